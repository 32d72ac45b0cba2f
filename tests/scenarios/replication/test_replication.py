"""A replication controller keeps its pods."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from random import Random
from typing import Any

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.contract import Client
from mooring.client.local import LocalClient
from mooring.controllers.replication import run as replication
from mooring.errors import ConnectionLost
from mooring.model.document import Doc
from mooring.model.meta import ApiObject
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import PODS, a_pod
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Cluster, Mortal

DEFAULT = "/api/v1/namespaces/default"
RCS = f"{DEFAULT}/replicationcontrollers"


def a_controller(replicas: int = 2) -> Doc:
    return {
        "kind": "ReplicationController",
        "apiVersion": "v1",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "busybox"}]},
            },
        },
    }


class Lost(Enum):
    """What becomes of a deletion whose answer never comes."""

    BEFORE = "it never arrived"
    AFTER = "it happened"


class Losing(Mortal):
    """A client whose first deletions are lost."""

    def __init__(self, client: Client, writes: int, lost: Sequence[Lost]) -> None:
        super().__init__(client, writes)
        self._lost = list(lost)

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        how = self._lost.pop(0) if self._lost else None
        if how is not Lost.BEFORE:
            await super().delete(seen, grace_seconds=grace_seconds)
        if how is not None:
            raise ConnectionLost("the answer got lost")


@asynccontextmanager
async def replicating(
    cluster: Cluster, writes: int = FOREVER, lost: Sequence[Lost] = ()
) -> AsyncIterator[None]:
    api = cluster.api
    clock, rng = api.clock, Random(1)  # noqa: S311  not for secrets
    in_process = InProcessApi(api.parts.backend, CONTROLLERS, check=api.parts.access.check)
    client = Losing(LocalClient(in_process), writes, lost)
    loops = Loops("controllers", client, clock, rng)
    replication.build(loops, NO_OPTIONS)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loops.run())
        await cluster.settle()
        yield
        running.cancel()


@pytest.fixture
def cluster(api: ApiUnderTest) -> Cluster:
    return Cluster(api)


async def pods(cluster: Cluster) -> list[Doc]:
    items: list[Doc] = (await cluster.api.get(PODS)).doc["items"]
    return items


async def counts(cluster: Cluster) -> tuple[Any, ...]:
    status = (await cluster.get(RCS, "web"))["status"]
    return status["replicas"], status.get("readyReplicas", 0), status.get("observedGeneration")


async def test_pods_are_made_owned_and_counted(cluster: Cluster) -> None:
    async with replicating(cluster):
        made = await cluster.create(RCS, a_controller(3))
        found = await pods(cluster)
        assert len(found) == 3
        owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in found}
        assert owners == {made["metadata"]["uid"]}
        assert await counts(cluster) == (3, 0, 1)
        created = await cluster.events("SuccessfulCreate")
        assert sorted(event[2] for event in created) == sorted(
            f"Created pod: {pod['metadata']['name']}" for pod in found
        )


async def test_a_pod_that_goes_is_replaced(cluster: Cluster) -> None:
    async with replicating(cluster):
        await cluster.create(RCS, a_controller(1))
        (before,) = await pods(cluster)
        await cluster.delete(PODS, before["metadata"]["name"])
        (after,) = await pods(cluster)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_scaled_down_and_up(cluster: Cluster) -> None:
    async with replicating(cluster):
        await cluster.create(RCS, a_controller(4))
        scaled = await cluster.patch(RCS, "web", {"spec": {"replicas": 1}}, "/scale")
        assert scaled["spec"] == {"replicas": 1}
        assert len(await pods(cluster)) == 1
        assert len(await cluster.events("SuccessfulDelete")) == 3
        await cluster.patch(RCS, "web", {"spec": {"replicas": 2}}, "/scale")
        assert len(await pods(cluster)) == 2
        assert await counts(cluster) == (2, 0, 3)


async def test_ready_pods_are_counted(cluster: Cluster) -> None:
    async with replicating(cluster):
        await cluster.create(RCS, a_controller(1))
        (pod,) = await pods(cluster)
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await cluster.patch(PODS, pod["metadata"]["name"], ready, "/status")
        assert await counts(cluster) == (1, 1, 1)


async def test_a_lone_pod_that_fits_is_adopted_and_let_go_again(cluster: Cluster) -> None:
    lone = a_pod("lone")
    lone["metadata"]["labels"] = {"app": "web"}
    await cluster.create(PODS, lone)
    async with replicating(cluster):
        await cluster.create(RCS, a_controller(1))
        (pod,) = await pods(cluster)
        assert pod["metadata"]["ownerReferences"][0]["name"] == "web"
        await cluster.patch(PODS, "lone", {"metadata": {"labels": {"app": "other"}}})
        mine = await cluster.get(PODS, "lone")
        assert "ownerReferences" not in mine["metadata"]
        assert len(await pods(cluster)) == 2


async def test_deleted_without_a_word_it_leaves_its_pods_alone(cluster: Cluster) -> None:
    async with replicating(cluster):
        await cluster.create(RCS, a_controller(2))
        await cluster.delete(RCS, "web")
        found = await pods(cluster)
        assert len(found) == 2
        assert all("ownerReferences" not in pod["metadata"] for pod in found)


async def test_deleted_with_its_dependents_its_pods_go(cluster: Cluster) -> None:
    async with replicating(cluster):
        await cluster.create(RCS, a_controller(2))
        answer = await cluster.api.delete(f"{RCS}/web", {"propagationPolicy": "Background"})
        assert answer.code == 200
        await cluster.settle()
        assert await pods(cluster) == []


async def test_pods_that_cannot_be_made_are_told_of_and_tried_again(cluster: Cluster) -> None:
    broken = a_controller(1)
    broken["spec"]["template"]["spec"]["serviceAccountName"] = "nobody"
    async with replicating(cluster):
        await cluster.create(RCS, broken)
        told, *_ = await cluster.events("FailedCreate")
        assert told[0] == "Warning"
        assert told[2].startswith("Error creating: pods ")
        assert await pods(cluster) == []
        account = {"metadata": {"name": "nobody"}}
        await cluster.create(f"{DEFAULT}/serviceaccounts", account)
        await cluster.api.clock.advance(60)
        await cluster.settle()
        assert len(await pods(cluster)) == 1


@pytest.mark.parametrize("how", Lost, ids=lambda how: how.value)
async def test_a_deletion_whose_answer_is_lost_forgets_no_pod(cluster: Cluster, how: Lost) -> None:
    async with replicating(cluster, lost=[how, how]):
        await cluster.create(RCS, a_controller(3))
        assert len(await pods(cluster)) == 3
        await cluster.patch(RCS, "web", {"spec": {"replicas": 1}})
        await cluster.api.clock.advance(60)
        await cluster.settle()
        assert len(await pods(cluster)) == 1
        assert (await counts(cluster))[0] == 1


@pytest.mark.parametrize("writes", range(8))
async def test_killed_after_any_write_the_next_one_finishes(cluster: Cluster, writes: int) -> None:
    async with replicating(cluster, writes):
        await cluster.create(RCS, a_controller(3))
    async with replicating(cluster):
        assert len(await pods(cluster)) == 3
        assert await counts(cluster) == (3, 0, 1)
