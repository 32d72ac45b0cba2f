"""The life of a snapshot with the controller, the snapshotter and the provisioner of production."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.controllers.snapshots import run as snapshots
from mooring.csi.outcome import Code
from mooring.csi.volume import FromSnapshot
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from tests.fakes.objects import CLAIMS, SNAPSHOT_CONTENTS, SNAPSHOTS, a_snapshot
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Mortal
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Fails
from tests.scenarios.sidecars.snapshot_world import GROUP_API, GROUP_CONTENTS, GROUPS, SnapshotWorld

RESTORE: dict[str, Any] = {
    "dataSource": {
        "apiGroup": "snapshot.storage.k8s.io",
        "kind": "VolumeSnapshot",
        "name": "snap",
    }
}
WRITES = range(12)


@pytest.fixture
async def world(cluster: Cluster) -> AsyncIterator[SnapshotWorld]:
    """A bound claim, and a class for its snapshots."""
    world = SnapshotWorld(cluster)
    await cluster.storage_class()
    await world.snapshot_class("snappy")
    async with cluster.provisioner():
        await cluster.claim()
        assert await cluster.phase() == "Bound"
        yield world


@asynccontextmanager
async def controlled(cluster: Cluster, writes: int = FOREVER) -> AsyncIterator[None]:
    client = Mortal(cluster.client(), writes)
    loops = Loops("controllers", client, cluster.clock, Random(5))  # noqa: S311  no secret
    snapshots.build(loops, NO_OPTIONS)
    async with cluster.running(loops):
        yield


async def snapshot(world: SnapshotWorld) -> Doc:
    return await world.cluster.get(f"{SNAPSHOTS}/snap")


async def contents(world: SnapshotWorld) -> list[Doc]:
    items: list[Doc] = (await world.cluster.api.get(SNAPSHOT_CONTENTS)).doc["items"]
    return items


async def test_a_snapshot_is_taken_restored_and_deleted(world: SnapshotWorld) -> None:
    cluster = world.cluster
    async with controlled(cluster), cluster.snapshotter():
        made = await cluster.create(SNAPSHOTS, a_snapshot())
        status = (await snapshot(world))["status"]
        name = f"snapshot-{made['metadata']['uid']}"
        assert status["readyToUse"] is True
        assert status["restoreSize"] == "1Gi"
        assert status["boundVolumeSnapshotContentName"] == f"snapcontent-{made['metadata']['uid']}"
        assert world.driver.names == {name: f"id-of-{name}"}
        (request,) = world.driver.requests
        assert request.source_volume_id in cluster.driver.volumes

        await cluster.claim("restored", **RESTORE)
        assert await cluster.phase("restored") == "Bound"
        assert cluster.driver.requests[-1].source == FromSnapshot(f"id-of-{name}")  # type: ignore[union-attr]

        await cluster.delete(f"{SNAPSHOTS}/snap")
        await cluster.passes(5)
        assert await cluster.find(f"{SNAPSHOTS}/snap") is None
        assert not await contents(world)
        assert not world.driver.snapshots
        finalizers = (await cluster.get(f"{CLAIMS}/data"))["metadata"]["finalizers"]
        assert not [each for each in finalizers if "snapshot" in each]


@pytest.mark.parametrize("dies", ["controller", "snapshotter"])
@pytest.mark.parametrize("writes", WRITES)
async def test_whoever_dies_a_snapshot_is_finished_and_leaves_nothing(
    world: SnapshotWorld, dies: str, writes: int
) -> None:
    cluster = world.cluster
    controller = writes if dies == "controller" else FOREVER
    snapshotter = writes if dies == "snapshotter" else FOREVER
    async with controlled(cluster, controller), cluster.snapshotter(snapshotter):
        await cluster.create(SNAPSHOTS, a_snapshot())
        await cluster.passes(5)
    async with controlled(cluster), cluster.snapshotter():
        await cluster.passes(5)
        assert (await snapshot(world))["status"]["readyToUse"] is True
        assert len(world.driver.snapshots) == 1
        assert len(await contents(world)) == 1
    async with controlled(cluster, controller), cluster.snapshotter(snapshotter):
        await cluster.delete(f"{SNAPSHOTS}/snap")
        await cluster.passes(5)
    async with controlled(cluster), cluster.snapshotter():
        await cluster.passes(5)
    assert await cluster.find(f"{SNAPSHOTS}/snap") is None
    assert not await contents(world)
    assert not world.driver.snapshots


@pytest.mark.parametrize("writes", range(8))
async def test_one_that_is_deleted_while_it_is_taken_leaves_nothing(
    world: SnapshotWorld, writes: int
) -> None:
    cluster = world.cluster
    cluster.driver.next("take", After(Fails(Code.DEADLINE_EXCEEDED)), Fails(Code.UNAVAILABLE))
    async with controlled(cluster, writes), cluster.snapshotter():
        await cluster.create(SNAPSHOTS, a_snapshot())
        await cluster.delete(f"{SNAPSHOTS}/snap")
        await cluster.passes(5)
    async with controlled(cluster), cluster.snapshotter():
        await cluster.passes(60)
    assert await cluster.find(f"{SNAPSHOTS}/snap") is None
    assert not await contents(world)
    assert not world.driver.snapshots


async def test_a_group_is_taken_with_its_members_and_deleted_as_a_whole(
    world: SnapshotWorld,
) -> None:
    cluster = world.cluster
    await world.group_class()
    await cluster.claim("more")
    for claim in ("data", "more"):
        await cluster.patch(f"{CLAIMS}/{claim}", {"metadata": {"labels": {"app": "db"}}})
    async with controlled(cluster), cluster.snapshotter():
        source = {"selector": {"matchLabels": {"app": "db"}}}
        spec = {"source": source, "volumeGroupSnapshotClassName": "daily"}
        meta = {"apiVersion": GROUP_API, "kind": "VolumeGroupSnapshot", "metadata": {"name": "all"}}
        await cluster.create(GROUPS, {**meta, "spec": spec})
        await cluster.passes(5)
        group = await cluster.get(f"{GROUPS}/all")
        assert group["status"]["readyToUse"] is True
        members = (await cluster.api.get(SNAPSHOTS)).doc["items"]
        assert [each["status"]["readyToUse"] for each in members] == [True, True]

        await cluster.delete(f"{GROUPS}/all")
        await cluster.passes(60)
        assert await cluster.find(f"{GROUPS}/all") is None
        assert not (await cluster.api.get(SNAPSHOTS)).doc["items"]
        assert not (await cluster.api.get(GROUP_CONTENTS)).doc["items"]
        assert not await contents(world)
    assert not world.driver.snapshots
    assert cluster.driver.count("drop-group") == 1
    assert not cluster.driver.count("drop")
