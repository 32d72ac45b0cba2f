"""Services are followed: who is behind them stands in slices and in Endpoints."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.endpoints import run as endpoints
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import DEFAULT, ENDPOINT_SLICES, ENDPOINTS, PODS, a_pod
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Cluster, Mortal

SERVICES = f"{DEFAULT}/services"
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def a_service(**spec: Any) -> Doc:
    ports = [{"port": 80, "targetPort": 8080}]
    return {
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }


@asynccontextmanager
async def following(cluster: Cluster, writes: int = FOREVER) -> AsyncIterator[Mortal]:
    api = cluster.api
    in_process = InProcessApi(api.parts.backend, CONTROLLERS, check=api.parts.access.check)
    client = Mortal(LocalClient(in_process), writes)
    loops = Loops("controllers", client, api.clock, Random(1))  # noqa: S311  not for secrets
    endpoints.build(loops, NO_OPTIONS)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loops.run())
        await cluster.settle()
        yield client
        running.cancel()


@pytest.fixture
def cluster(api: ApiUnderTest) -> Cluster:
    return Cluster(api)


async def run_pod(cluster: Cluster, name: str, ip: str, **status: Any) -> None:
    pod = a_pod(name, "n1")
    pod["metadata"]["labels"] = {"app": "web"}
    await cluster.create(PODS, pod)
    shown = {"podIP": ip, "phase": "Running", **READY, **status}
    await cluster.patch(PODS, name, {"status": shown}, "/status")


async def slices(cluster: Cluster) -> list[Doc]:
    items: list[Doc] = (await cluster.api.get(ENDPOINT_SLICES)).doc["items"]
    return items


async def behind(cluster: Cluster) -> dict[str, bool]:
    """The addresses in slices, and whether they are ready."""
    return {
        each["addresses"][0]: each["conditions"]["ready"]
        for slice_ in await slices(cluster)
        for each in slice_["endpoints"] or ()
    }


async def told(cluster: Cluster) -> list[str]:
    """The ready addresses in Endpoints."""
    subsets = (await cluster.get(ENDPOINTS, "web")).get("subsets", [])
    return [each["ip"] for subset in subsets for each in subset.get("addresses", [])]


async def test_the_life_of_a_service(cluster: Cluster) -> None:
    async with following(cluster):
        await cluster.create(SERVICES, a_service())
        (empty,) = await slices(cluster)
        assert not empty["endpoints"]
        await run_pod(cluster, "one", "10.0.0.1")
        await run_pod(cluster, "two", "10.0.0.2", conditions=[])
        assert await behind(cluster) == {"10.0.0.1": True, "10.0.0.2": False}
        assert await told(cluster) == ["10.0.0.1"]
        await cluster.patch(PODS, "two", {"status": READY}, "/status")
        assert await told(cluster) == ["10.0.0.1", "10.0.0.2"]
        await cluster.delete(PODS, "one")
        assert await behind(cluster) == {"10.0.0.1": False, "10.0.0.2": True}
        await cluster.delete(PODS, "one", 0)
        assert await behind(cluster) == {"10.0.0.2": True}
        await cluster.patch(PODS, "two", {"metadata": {"labels": {"app": "db"}}})
        assert await behind(cluster) == {}
        await cluster.delete(SERVICES, "web")
        assert await cluster.find(ENDPOINTS, "web") is None


async def test_a_slice_that_somebody_deletes_or_edits_is_put_right(cluster: Cluster) -> None:
    async with following(cluster):
        await cluster.create(SERVICES, a_service())
        await run_pod(cluster, "one", "10.0.0.1")
        (before,) = await slices(cluster)
        await cluster.patch(ENDPOINT_SLICES, before["metadata"]["name"], {"endpoints": []})
        assert await behind(cluster) == {"10.0.0.1": True}
        await cluster.delete(ENDPOINT_SLICES, before["metadata"]["name"])
        (after,) = await slices(cluster)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        await cluster.delete(ENDPOINTS, "web")
        assert await told(cluster) == ["10.0.0.1"]


async def test_what_is_written_by_hand_for_a_service_without_selector_stays(
    cluster: Cluster,
) -> None:
    by_hand = {"metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": "10.0.0.9"}]}]}
    async with following(cluster):
        await cluster.create(SERVICES, a_service(selector=None))
        await cluster.create(ENDPOINTS, by_hand)
        assert await told(cluster) == ["10.0.0.9"]
        await cluster.delete(SERVICES, "web")
        assert await told(cluster) == ["10.0.0.9"]
    assert await slices(cluster) == []


@pytest.mark.parametrize("writes", range(4))
async def test_a_controller_that_dies_between_writes_is_finished_by_the_next(
    cluster: Cluster, writes: int
) -> None:
    async with following(cluster, writes):
        await cluster.create(SERVICES, a_service())
        await run_pod(cluster, "one", "10.0.0.1")
    async with following(cluster):
        assert await behind(cluster) == {"10.0.0.1": True}
        assert await told(cluster) == ["10.0.0.1"]
        assert len(await slices(cluster)) == 1


async def test_a_service_that_is_deleted_while_nobody_looks(cluster: Cluster) -> None:
    async with following(cluster):
        await cluster.create(SERVICES, a_service())
    await cluster.delete(SERVICES, "web")
    async with following(cluster):
        assert await cluster.find(ENDPOINTS, "web") is None


async def test_at_rest_nothing_is_written(cluster: Cluster) -> None:
    async with following(cluster):
        await cluster.create(SERVICES, a_service())
        await run_pod(cluster, "one", "10.0.0.1")
    async with following(cluster) as client:
        await cluster.patch(PODS, "one", {"metadata": {"annotations": {"a": "b"}}})
        assert client.left == FOREVER
