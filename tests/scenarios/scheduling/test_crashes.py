"""Killed after any write, the next scheduler goes on from there; nothing is taken twice."""

from collections.abc import Awaitable, Callable

import pytest

from tests.fakes.objects import CLAIMS, CLASSES, PODS, VOLUMES, a_claim, a_pod
from tests.scenarios.binding.cluster import FAKE
from tests.scenarios.scheduling.cluster import (
    Cluster,
    a_local_volume,
    a_pod_with,
    a_waiting_class,
)

Story = Callable[[Cluster], Awaitable[None]]
End = dict[str, str]


async def plain(cluster: Cluster) -> None:
    await cluster.create(PODS, a_pod())


async def reserve_two(cluster: Cluster) -> None:
    await cluster.waiting_class()
    for name in ("a", "b"):
        await cluster.create(VOLUMES, a_local_volume(f"disk-{name}", "n2"))
        await cluster.create(CLAIMS, a_claim(name, storageClassName="local"))
    await cluster.passes(1)
    await cluster.create(PODS, a_pod_with("a", "b"))


async def provision_two(cluster: Cluster) -> None:
    await cluster.create(CLASSES, a_waiting_class("fast", FAKE))
    for name in ("a", "b"):
        await cluster.create(CLAIMS, a_claim(name, storageClassName="fast"))
    await cluster.create(PODS, a_pod_with("a", "b"))


async def refuse(cluster: Cluster) -> None:
    await cluster.create(PODS, a_pod_with("missing"))


async def told(cluster: Cluster) -> End:
    """Where the pod is, and which claims have a volume."""
    place = await cluster.pod()
    found = {"pod": place.partition(":")[0]}
    for doc in (await cluster.api.get(CLAIMS)).doc["items"]:
        name = doc["metadata"]["name"]
        found[name] = (await cluster.claim(name)).split()[0]
    return found


STORIES: dict[str, tuple[Story, End]] = {
    "a pod": (plain, {"pod": "n1"}),
    "volumes made by hand": (reserve_two, {"pod": "n2", "a": "Bound", "b": "Bound"}),
    "volumes made to order": (provision_two, {"pod": "n1", "a": "Bound", "b": "Bound"}),
    "a pod that fits nowhere": (refuse, {"pod": "Unschedulable"}),
}


@pytest.mark.parametrize("writes", range(6))
@pytest.mark.parametrize(("story", "end"), STORIES.values(), ids=STORIES)
async def test_killed_before_a_write(cluster: Cluster, story: Story, end: End, writes: int) -> None:
    async with cluster.binder():
        await cluster.nodes("n1", "n2")
        async with cluster.scheduler(writes):
            await story(cluster)
            await cluster.passes(1)
        async with cluster.scheduler():
            await cluster.passes(5)
            assert await told(cluster) == end
            await check_volumes(cluster)


async def check_volumes(cluster: Cluster) -> None:
    """No volume has two claims, no claim two volumes, and both sides agree."""
    volumes = (await cluster.api.get(VOLUMES)).doc["items"]
    owners = [doc["spec"]["claimRef"]["name"] for doc in volumes if doc["spec"].get("claimRef")]
    assert len(owners) == len(set(owners))
    for doc in (await cluster.api.get(CLAIMS)).doc["items"]:
        name = doc["spec"].get("volumeName")
        if name:
            volume = await cluster.find(VOLUMES, name)
            assert volume is not None
            assert volume["spec"]["claimRef"]["name"] == doc["metadata"]["name"]


async def test_two_schedulers_at_once_do_no_harm(cluster: Cluster) -> None:
    """A lease should keep them apart; should it not, each write still says what was seen."""
    async with cluster.binder(), cluster.scheduler(), cluster.scheduler():
        await cluster.nodes("n1", "n2")
        await cluster.waiting_class()
        for name in ("a", "b", "c"):
            await cluster.create(VOLUMES, a_local_volume(f"disk-{name}", "n2"))
            await cluster.create(CLAIMS, a_claim(name, storageClassName="local"))
        await cluster.passes(1)
        for name in ("a", "b", "c"):
            await cluster.create(PODS, a_pod_with(name, name=f"pod-{name}"))
        await cluster.passes(30)
        await check_volumes(cluster)
        assert {await cluster.pod(f"pod-{name}") for name in "abc"} == {"n2"}
