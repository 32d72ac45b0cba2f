"""Exclusive volumes of a machine that has died: when they are attached elsewhere."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.node.status.goodbye import say_goodbye
from tests.fakes.objects import NODES, PODS, a_pod
from tests.scenarios.attachment.cluster import MANAGED
from tests.scenarios.attachment.cluster import Cluster as Volumes
from tests.scenarios.node_lifecycle.cluster import OUT_OF_SERVICE, Cluster

PROMPTLY = 2.0  # seconds
THERE, MOVED = ["pv1 n1 attached"], ["pv1 n2 attached"]


@pytest.fixture
async def volumes(cluster: Cluster) -> Volumes:
    return Volumes(cluster.api)


@asynccontextmanager
async def in_use(cluster: Cluster, volumes: Volumes) -> AsyncIterator[None]:
    """A pod on n1 uses an exclusive volume, another on n2 waits for it."""
    for name in ("n1", "n2"):
        await cluster.node(name)
        annotations = {"metadata": {"annotations": {MANAGED: "true"}}}
        await cluster.patch(f"{NODES}/{name}", annotations)
    await volumes.driver()
    await volumes.volume("pv1")
    async with cluster.controllers("attachment"), asyncio.TaskGroup() as tasks:
        attacher = tasks.create_task(volumes.attacher.run())
        await cluster.write("post", PODS, a_pod("web", "n1", "pv1"))
        await cluster.passes(1)
        running = [{"name": "main", "image": "x", "imageID": "x", "ready": True, "restartCount": 0}]
        running[0]["state"] = {"running": {}}
        status = {"phase": "Running", "containerStatuses": running}
        await cluster.patch(f"{PODS}/web/status", {"status": status})
        await volumes.uses("n1", "pv1")
        await cluster.write("post", PODS, a_pod("next", "n2", "pv1"))
        await cluster.passes(1)
        assert await volumes.attachments() == THERE
        yield
        attacher.cancel()
    assert volumes.attacher.worst == 1  # never on two nodes at once


async def moved(cluster: Cluster, volumes: Volumes, most: float) -> float:
    async def is_there() -> bool:
        return await volumes.attachments() == MOVED

    return await cluster.until(is_there, most, step=0.1)


async def test_a_silent_machine_is_waited_for(cluster: Cluster, volumes: Volumes) -> None:
    """The pod for five minutes, its deletion for ever: nobody knows that it has ended."""
    async with in_use(cluster, volumes):
        cluster.living.discard("n1")
        await cluster.passes(3600)
        assert await volumes.attachments() == THERE
        assert await cluster.is_deleted("web")


async def test_out_of_service_moves_it_within_two_seconds(
    cluster: Cluster, volumes: Volumes
) -> None:
    async with in_use(cluster, volumes):
        cluster.living.discard("n1")
        await cluster.passes(60)
        await cluster.taint("n1", OUT_OF_SERVICE)
        assert await moved(cluster, volumes, 60) <= PROMPTLY
        assert await cluster.find_pod("web") is None


async def test_said_goodbye_it_moves_within_two_seconds(cluster: Cluster, volumes: Volumes) -> None:
    async with in_use(cluster, volumes):
        cluster.living.discard("n1")
        client = LocalClient(InProcessApi(cluster.api.parts.backend, CONTROLLERS))
        await say_goodbye(client, cluster.clock, "n1")
        assert await moved(cluster, volumes, 60) <= PROMPTLY
        assert await cluster.find_pod("web") is None
        await cluster.passes(600)
        said = (await cluster.conditions("n1"))["Ready"]
        assert (said["status"], said["reason"]) == ("False", "NodeShutdown")
        assert ("out-of-service", "NoExecute") in await cluster.taints("n1")
        await cluster.posts("n1")
        cluster.living.add("n1")
        await cluster.passes(1)
        assert await cluster.taints("n1") == set()


async def test_the_only_node_says_goodbye_and_keeps_its_pods(cluster: Cluster) -> None:
    await cluster.node("n1")
    await cluster.pod("web")
    async with cluster.controllers():
        cluster.living.discard("n1")
        client = LocalClient(InProcessApi(cluster.api.parts.backend, CONTROLLERS))
        await say_goodbye(client, cluster.clock, "n1")
        await cluster.passes(3600)
        assert not await cluster.is_deleted("web")
        assert await cluster.taints("n1") == {("not-ready", "NoSchedule")}


async def test_a_deleted_node_is_no_proof(cluster: Cluster, volumes: Volumes) -> None:
    async with in_use(cluster, volumes):
        await cluster.remove("n1")
        await cluster.passes(350)
        assert await cluster.find_pod("web") is None  # collected after 40 s
        assert await volumes.attachments() == THERE
        assert await moved(cluster, volumes, 120) > PROMPTLY


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["back", "forward"])
async def test_setting_the_clock_detaches_nothing_from_a_silent_machine(
    cluster: Cluster, volumes: Volumes, ahead: float
) -> None:
    """Its pod is removed by force: its volume has six minutes, by no clock that can be set."""
    async with in_use(cluster, volumes):
        cluster.living.discard("n1")
        await cluster.passes(60)
        await cluster.api.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})
        await cluster.passes(60)
        cluster.clock.set_wall(ahead)
        await cluster.passes(270)
        assert await volumes.attachments() == THERE
        assert await moved(cluster, volumes, 60) > 0
