"""Group snapshots through the snapshotter."""

from collections.abc import Callable

import msgspec
import pytest

from mooring.csi.capability import PluginService
from mooring.csi.outcome import Code
from mooring.csi.requests import CreateGroupSnapshot
from mooring.csi.volume import Snapshot
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Fails, Makes
from tests.scenarios.sidecars.snapshot_driver import NANOSECONDS, SIZE
from tests.scenarios.sidecars.snapshot_world import GROUP_CREATED, SnapshotWorld

Members = tuple[Snapshot, ...]
STATIC = {
    "groupSnapshotHandles": {
        "volumeGroupSnapshotHandle": "id-of-hand-made",
        "volumeSnapshotHandles": ["id-of-hand-made-vol-1", "id-of-hand-made-vol-2"],
    }
}


@pytest.fixture
def world(cluster: Cluster) -> SnapshotWorld:
    return SnapshotWorld(cluster)


async def test_a_group_is_taken_with_one_call_and_told_member_by_member(
    world: SnapshotWorld,
) -> None:
    await world.group_class(pool="fast")
    async with world.cluster.snapshotter() as client:
        await world.group()
        content = await world.group_content()
        name = f"groupsnapshot-{content['spec']['volumeGroupSnapshotRef']['uid']}"
        members = [
            {
                "volumeHandle": volume,
                "snapshotHandle": f"id-of-{name}-{volume}",
                "creationTime": NANOSECONDS,
                "readyToUse": True,
                "restoreSize": SIZE,
            }
            for volume in ("vol-1", "vol-2", "vol-3")
        ]
        assert content["status"] == {
            "volumeGroupSnapshotHandle": f"id-of-{name}",
            "readyToUse": True,
            "creationTime": "2030-01-02T03:04:05Z",
            "volumeSnapshotInfoList": members,
        }
        assert "annotations" not in content["metadata"]
        assert client.calls == ["patch VolumeGroupSnapshotContent"] * 3
    (request,) = world.cluster.driver.groups.requests
    assert request.source_volume_ids == ("vol-1", "vol-2", "vol-3")
    assert request.parameters == {"pool": "fast"}


async def test_a_group_that_is_not_ready_is_looked_up_until_it_is(world: SnapshotWorld) -> None:
    world.cluster.driver.groups.unready = 2
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group()
        status = (await world.group_content())["status"]
        assert status["readyToUse"] is False
        assert len(status["volumeSnapshotInfoList"]) == 3
        await world.cluster.passes(1)
        await world.cluster.passes(2)
        assert (await world.group_content())["status"]["readyToUse"] is True
    assert world.cluster.driver.count("take-group") == 1


async def test_a_deleted_group_goes_with_all_its_members(world: SnapshotWorld) -> None:
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group()
        await world.delete_group()
        assert await world.find_group() is None
    (gone,) = world.cluster.driver.groups.deleted
    assert len(gone.snapshot_ids) == 3
    assert not world.driver.snapshots
    assert not world.cluster.driver.count("drop")


async def test_a_group_that_may_have_been_taken_is_settled_before_it_is_deleted(
    world: SnapshotWorld,
) -> None:
    lost = Fails(Code.DEADLINE_EXCEEDED)
    world.cluster.driver.next("take-group", After(lost), *[lost] * 5)
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group()
        assert (await world.group_content())["metadata"]["annotations"][GROUP_CREATED] == "yes"
        await world.delete_group()
        assert await world.find_group() is not None
        assert not world.cluster.driver.groups.deleted
        await world.cluster.passes(60)
    assert await world.find_group() is None
    assert not world.driver.snapshots


async def test_a_group_that_was_refused_is_not_deleted_from_the_driver(
    world: SnapshotWorld,
) -> None:
    world.cluster.driver.next("take-group", *[Fails(Code.FAILED_PRECONDITION, "apart")] * 9)
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group()
        (told,) = await world.cluster.told("GroupSnapshotCreationFailed")
        assert told == (
            "Failed to create group snapshot: failed to take group snapshot of the volumes"
            ' [vol-1 vol-2 vol-3]: "rpc error: code = FailedPrecondition desc = apart"'
        )
        await world.delete_group()
        await world.cluster.passes(60)
    assert await world.find_group() is None
    assert not world.cluster.driver.groups.deleted


LIES: dict[str, Callable[[Members], Members]] = {
    "fewer": lambda made: made[:2],
    "one twice": lambda made: (*made[:2], made[0]),
    "one of another volume": lambda made: (
        *made[:2],
        msgspec.structs.replace(made[2], source_volume_id="vol-9"),
    ),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_group_of_other_volumes_is_deleted_and_never_ready(
    world: SnapshotWorld, lie: str
) -> None:
    groups = world.cluster.driver.groups
    groups.lie = LIES[lie]
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group()
        status = (await world.group_content())["status"]
        assert status["readyToUse"] is False
        assert "volumeGroupSnapshotHandle" not in status
        assert "the driver took snapshots of volumes" in status["error"]["message"]
        assert len(groups.deleted) == 1
        assert not groups.groups
        await world.delete_group()
        await world.cluster.passes(60)
    assert await world.find_group() is None


async def test_the_group_of_another_content_is_not_taken_for_ones_own(
    world: SnapshotWorld,
) -> None:
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group("first")
        first = (await world.group_content("first"))["status"]["volumeGroupSnapshotHandle"]
        again = Makes({"group_snapshot_id": first})
        world.cluster.driver.next("take-group", *[again] * 9)
        await world.group("second")
        message = (await world.group_content("second"))["status"]["error"]["message"]
        assert "volumegroupsnapshotcontent content-first has it" in message
        await world.delete_group("second")
        await world.cluster.passes(60)
        assert await world.find_group("second") is None
    assert not world.cluster.driver.groups.deleted


async def test_a_retained_group_is_never_deleted(world: SnapshotWorld) -> None:
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group(deletionPolicy="Retain")
        await world.delete_group()
        await world.cluster.passes(60)
    assert await world.find_group() is None
    assert world.cluster.driver.groups.groups
    assert not world.cluster.driver.groups.deleted


async def test_a_group_that_exists_already_is_found(world: SnapshotWorld) -> None:
    world.cluster.driver.groups.take(CreateGroupSnapshot("hand-made", ("vol-1", "vol-2")))
    async with world.cluster.snapshotter():
        await world.group(source=STATIC, volumeGroupSnapshotClassName=None)
        assert (await world.group_content())["status"] == {
            "volumeGroupSnapshotHandle": "id-of-hand-made",
            "readyToUse": True,
            "creationTime": "2030-01-02T03:04:05Z",
        }
        await world.delete_group()
    assert await world.find_group() is None
    (gone,) = world.cluster.driver.groups.deleted
    assert gone.snapshot_ids == ("id-of-hand-made-vol-1", "id-of-hand-made-vol-2")


async def test_a_driver_without_groups_is_asked_for_none(world: SnapshotWorld) -> None:
    able = world.cluster.driver.abilities
    services = able.services - {PluginService.GROUP_CONTROLLER_SERVICE}
    world.cluster.driver.abilities = msgspec.structs.replace(able, services=services)
    await world.group_class()
    async with world.cluster.snapshotter():
        await world.group()
        await world.cluster.passes(600)
        (told,) = await world.cluster.told("GroupSnapshotCreationFailed")
        assert told.endswith("it lacks CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT")
        await world.delete_group()
        await world.cluster.passes(2)
        assert await world.find_group() is None
    assert not world.cluster.driver.calls
