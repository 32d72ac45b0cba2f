"""The client for group snapshots."""

from datetime import UTC, datetime

import pytest

from mooring.csi.capability import GroupCapability
from mooring.csi.channel import Connection
from mooring.csi.group_snapshots import GroupSnapshots
from mooring.csi.outcome import Code, Done, Refused, Uncertain
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.requests import CreateGroupSnapshot, GroupMembers
from tests.fakes.csi_driver import FakeCsiDriver, Replies

WANTED = CreateGroupSnapshot("nightly", ("vol-1", "vol-2"), parameters={"kind": "fast"})
MEMBERS = GroupMembers("group-nightly", ("snap-nightly-0", "snap-nightly-1"))


@pytest.fixture
def groups(driver: FakeCsiDriver, connection: Connection) -> GroupSnapshots:
    for name in ("vol-1", "vol-2"):
        driver.state.volumes[name] = pb.Volume(volume_id=name, capacity_bytes=10)
    return GroupSnapshots(connection)


async def test_a_group_is_created_found_and_deleted_as_often_as_asked(
    driver: FakeCsiDriver, groups: GroupSnapshots
) -> None:
    made = await groups.create(WANTED, within=5)
    assert isinstance(made, Done)
    assert made == await groups.create(WANTED, within=5) == await groups.get(MEMBERS, within=5)
    group = made.value
    assert (group.group_snapshot_id, group.ready_to_use) == ("group-nightly", True)
    assert group.created == datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    told = {each.source_volume_id: each.group_snapshot_id for each in group.snapshots}
    assert told == {"vol-1": "group-nightly", "vol-2": "group-nightly"}
    assert await groups.delete(MEMBERS, within=5) == Done(None)
    assert await groups.delete(MEMBERS, within=5) == Done(None)
    assert driver.state.snapshots == {}
    gone = await groups.get(MEMBERS, within=5)
    assert gone == Refused(Code.NOT_FOUND, "group-nightly does not exist")
    asked = driver.requests("DeleteVolumeGroupSnapshot")[0]
    assert isinstance(asked, pb.DeleteVolumeGroupSnapshotRequest)
    assert tuple(asked.snapshot_ids) == MEMBERS.snapshot_ids


async def test_capabilities_are_asked_once(driver: FakeCsiDriver, groups: GroupSnapshots) -> None:
    for _ in range(2):
        assert await groups.capabilities(within=5) == Done(frozenset(GroupCapability))
    assert driver.rpcs() == ["GroupControllerGetCapabilities"]


async def test_a_group_or_a_member_without_an_id_is_no_answer(
    driver: FakeCsiDriver, groups: GroupSnapshots
) -> None:
    nameless = pb.VolumeGroupSnapshot(group_snapshot_id="g", snapshots=[pb.Snapshot()])
    for bad in (pb.VolumeGroupSnapshot(), nameless):
        driver.next("CreateVolumeGroupSnapshot", _answering(bad))
        outcome = await groups.create(WANTED, within=5)
        assert isinstance(outcome, Uncertain)
        assert "without an id" in outcome.text


def _answering(group: pb.VolumeGroupSnapshot) -> Replies:
    return Replies(lambda _: pb.CreateVolumeGroupSnapshotResponse(group_snapshot=group))
