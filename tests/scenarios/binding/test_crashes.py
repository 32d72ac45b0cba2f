"""Killed after any write, the next binder finishes or repairs; nothing is lost or bound twice."""

from collections.abc import Awaitable, Callable

import pytest

from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, a_claim, a_class, a_volume
from tests.scenarios.binding.cluster import FAKE, Cluster

Story = Callable[[Cluster], Awaitable[None]]


async def bind(cluster: Cluster) -> None:
    await cluster.create(VOLUMES, a_volume())
    await cluster.create(CLAIMS, a_claim())
    await cluster.create(CLAIMS, a_claim("late"))


async def reserve(cluster: Cluster) -> None:
    reference = {"namespace": "default", "name": "data"}
    await cluster.create(VOLUMES, a_volume(claimRef=reference))
    await cluster.passes(1)
    await cluster.create(CLAIMS, a_claim())


async def provision(cluster: Cluster) -> None:
    await cluster.create(CLASSES, a_class() | {"provisioner": FAKE})
    await cluster.create(CLAIMS, a_claim(storageClassName="fast"))


async def delete(cluster: Cluster) -> None:
    await provision(cluster)
    await cluster.delete(CLAIMS, "data")


async def retain(cluster: Cluster) -> None:
    await cluster.create(VOLUMES, a_volume())
    await cluster.create(CLAIMS, a_claim())
    await cluster.delete(CLAIMS, "data")


async def told(cluster: Cluster) -> tuple[list[str], list[str]]:
    volumes = (await cluster.api.get(VOLUMES)).doc["items"]
    claims = (await cluster.api.get(CLAIMS)).doc["items"]
    return (
        sorted([await cluster.volume(doc["metadata"]["name"]) for doc in volumes]),
        [(await cluster.claim(doc["metadata"]["name"])).split()[0] for doc in claims],
    )


STORIES: dict[str, tuple[Story, tuple[list[str], list[str]]]] = {
    "binding": (bind, (["Bound ref=data+ BBC"], ["Bound", "Pending"])),
    "binding to a reserved volume": (reserve, (["Bound ref=data+"], ["Bound"])),
    "making a volume": (provision, (["Bound ref=data+ BBC"], ["Bound"])),
    "deleting a volume": (delete, ([], [])),
    "keeping a volume": (retain, (["Released ref=data+ BBC"], [])),
}


@pytest.mark.parametrize("writes", range(9))
@pytest.mark.parametrize(("story", "end"), STORIES.values(), ids=STORIES)
async def test_killed_before_a_write(
    cluster: Cluster, story: Story, end: tuple[list[str], list[str]], writes: int
) -> None:
    async with cluster.binder(writes):
        await story(cluster)
        await cluster.passes(1)
    async with cluster.binder():
        await cluster.passes(5)
        assert await told(cluster) == end
        if story is delete and writes == 1:
            return  # made, not told to the API yet, its claim gone: nobody knows of it any more
        made = {doc["metadata"]["name"] for doc in (await cluster.api.get(VOLUMES)).doc["items"]}
        assert cluster.plugin.assets <= made, "nothing is left behind"
