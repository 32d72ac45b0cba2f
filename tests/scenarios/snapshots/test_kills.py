"""Killed before every single write, the next start finishes: nothing is lost, leaked or doubled."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mooring.model.wellknown import Finalizer
from tests.fakes.objects import CLAIMS, SNAPSHOT_CONTENTS, SNAPSHOTS
from tests.scenarios.snapshots.cluster import GROUP_CONTENTS, GROUPS, Cluster

ALL = (GROUPS, GROUP_CONTENTS, SNAPSHOTS, SNAPSHOT_CONTENTS)
Story = Callable[[Cluster], Awaitable[None]]


async def given(cluster: Cluster, policy: str) -> None:
    for name in ("data", "logs"):
        await cluster.claim(name, app="db")
    await cluster.snapshot_class(deletionPolicy=policy)
    await cluster.group_class(deletionPolicy=policy)


async def single(cluster: Cluster) -> None:
    await cluster.snapshot()


async def static(cluster: Cluster) -> None:
    await cluster.static()
    source = {"volumeSnapshotContentName": "content"}
    await cluster.snapshot(source=source, volumeSnapshotClassName=None)


async def group(cluster: Cluster) -> None:
    await cluster.group()


async def passes(cluster: Cluster) -> None:
    """Some rounds of both sides; the controller may be dead by now."""
    for _ in range(6):
        await cluster.settle()
        await cluster.sidecar.turn()
        await check(cluster)
    await cluster.settle()


async def check(cluster: Cluster) -> None:
    """At every moment: what is ready exists, and what may be in the driver has a content."""
    contents = {each["metadata"]["name"]: each for each in await cluster.all(SNAPSHOT_CONTENTS)}
    for handle, name in cluster.sidecar.stored.items():
        assert name in contents, f"{handle} is leaked"
    for content in contents.values():
        is_bound = content["spec"]["volumeSnapshotRef"].get("uid")
        held = content["metadata"].get("finalizers", [])
        assert not is_bound or Finalizer.SNAPSHOT_CONTENT in held
    for snapshot in await cluster.all(SNAPSHOTS):
        status = snapshot.get("status", {})
        if status.get("readyToUse") and "deletionTimestamp" not in snapshot["metadata"]:
            content = contents[status["boundVolumeSnapshotContentName"]]
            assert content["status"]["snapshotHandle"]
    for found in await cluster.all(GROUPS):
        if found.get("status", {}).get("readyToUse"):
            assert await is_whole(cluster, found)


async def is_whole(cluster: Cluster, found: dict[str, Any]) -> bool:
    if "deletionTimestamp" in found["metadata"] or "selector" not in found["spec"]["source"]:
        return True
    members = await cluster.all(SNAPSHOTS)
    return len([each for each in members if each["metadata"].get("ownerReferences")]) == 2


async def forms(cluster: Cluster) -> list[tuple[str, str, Any]]:
    """What there is, without what differs from run to run."""
    return [
        (collection, each["kind"], str(each.get("status", {}).get("readyToUse")))
        for collection in ALL
        for each in await cluster.all(collection)
    ]


MOST = {single: 11, static: 9, group: 20}
CASES = {
    f"{story.__name__}, {policy}, before write {cut + 1}": (story, policy, cut)
    for story, most in MOST.items()
    for policy in ("Delete", "Retain")
    for cut in range(most)
}


@pytest.mark.parametrize(("story", "policy", "cut"), CASES.values(), ids=CASES)
async def test_killed_while_it_is_taken(
    cluster: Cluster, story: Story, policy: str, cut: int
) -> None:
    await given(cluster, policy)
    async with cluster.controller(cut):
        await story(cluster)
        await passes(cluster)
    async with cluster.controller():
        await cluster.goes_on()
        await check(cluster)
        taken = await forms(cluster)
        assert all(ready == "True" for _, _, ready in taken)
        assert len(taken) == (6 if story is group else 2)
        held = (await cluster.get(CLAIMS, "data"))["metadata"]["finalizers"]
        assert Finalizer.CLAIM_AS_SOURCE not in held


@pytest.mark.parametrize(("story", "policy", "cut"), CASES.values(), ids=CASES)
async def test_killed_while_it_is_deleted(
    cluster: Cluster, story: Story, policy: str, cut: int
) -> None:
    await given(cluster, policy)
    collection, name = (GROUPS, "all") if story is group else (SNAPSHOTS, "snap")
    async with cluster.controller():
        await story(cluster)
        await cluster.goes_on()
    before = dict(cluster.sidecar.stored)
    async with cluster.controller(cut):
        await cluster.delete(collection, name)
        await passes(cluster)
    async with cluster.controller():
        await cluster.goes_on()
        assert await cluster.all(SNAPSHOTS) == []
        assert await cluster.all(GROUPS) == []
        contents = await cluster.all(SNAPSHOT_CONTENTS) + await cluster.all(GROUP_CONTENTS)
        if policy == "Delete" or story is static:
            assert contents == []
            assert cluster.sidecar.stored == {}
            assert cluster.sidecar.groups == {}
        else:
            assert len(contents) == (3 if story is group else 1)
            assert cluster.sidecar.stored == before
            assert not [call for call in cluster.sidecar.calls if call.startswith("Delete")]


@pytest.mark.parametrize("cut", range(20))
@pytest.mark.parametrize("story", [single, group])
async def test_deleted_while_it_is_taken_and_killed(
    cluster: Cluster, story: Story, cut: int
) -> None:
    """The user changes his mind at any moment, also before the status knows of the content."""
    await given(cluster, "Delete")
    collection, name = (GROUPS, "all") if story is group else (SNAPSHOTS, "snap")
    async with cluster.controller(cut):
        await story(cluster)
        await passes(cluster)
    await cluster.delete(collection, name)
    async with cluster.controller():
        await cluster.goes_on()
        for kind in ALL:
            assert await cluster.all(kind) == [], kind
        assert cluster.sidecar.stored == {}
        assert cluster.sidecar.groups == {}
        held = (await cluster.get(CLAIMS, "data"))["metadata"]["finalizers"]
        assert Finalizer.CLAIM_AS_SOURCE not in held
