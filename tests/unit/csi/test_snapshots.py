"""The client for snapshots."""

from datetime import UTC, datetime

import pytest

from mooring.csi.channel import Connection
from mooring.csi.outcome import Code, Done, Refused, Uncertain
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.requests import CreateSnapshot, ListSnapshots
from mooring.csi.snapshots import Snapshots
from mooring.csi.volume import Snapshot
from tests.fakes.csi_driver import FakeCsiDriver, Replies

ALL = ListSnapshots()


@pytest.fixture
def snapshots(driver: FakeCsiDriver, connection: Connection) -> Snapshots:
    for name in ("vol-1", "vol-2"):
        driver.state.volumes[name] = pb.Volume(volume_id=name, capacity_bytes=10)
    return Snapshots(connection)


async def test_create_twice_and_delete_twice(driver: FakeCsiDriver, snapshots: Snapshots) -> None:
    wanted = CreateSnapshot("one", "vol-1", parameters={"kind": "fast"})
    made = Done(
        Snapshot(
            snapshot_id="snap-one",
            source_volume_id="vol-1",
            created=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
            created_nanoseconds=1893553445_000000006,
            ready_to_use=True,
            size_bytes=10,
        )
    )
    assert await snapshots.create(wanted, within=5) == made
    assert await snapshots.create(wanted, within=5) == made
    assert await snapshots.create(CreateSnapshot("one", "vol-2"), within=5) == Refused(
        Code.ALREADY_EXISTS, "one is of another volume"
    )
    assert await snapshots.delete("snap-one", within=5) == Done(None)
    assert await snapshots.delete("snap-one", within=5) == Done(None)
    assert driver.state.snapshots == {}


async def test_lists_of_all_and_of_some(snapshots: Snapshots) -> None:
    for name, volume in (("a", "vol-1"), ("b", "vol-2"), ("c", "vol-2")):
        await snapshots.create(CreateSnapshot(name, volume), within=5)

    async def ids(which: ListSnapshots) -> list[str]:
        outcome = await snapshots.list_all(which, within=5)
        assert isinstance(outcome, Done)
        return [snapshot.snapshot_id for snapshot in outcome.value]

    assert await ids(ALL) == ["snap-a", "snap-b", "snap-c"]
    assert await ids(ListSnapshots(source_volume_id="vol-2")) == ["snap-b", "snap-c"]
    assert await ids(ListSnapshots(snapshot_id="snap-b")) == ["snap-b"]
    assert await ids(ListSnapshots(snapshot_id="gone")) == []
    page = await snapshots.list_page(ALL, "1", max_entries=1, within=5)
    assert isinstance(page, Done)
    assert [one.snapshot_id for one in page.value.entries] == ["snap-b"]
    assert page.value.next_token == "2"


BAD = {
    "no id": pb.Snapshot(),
    "a time before time": pb.Snapshot(snapshot_id="x", creation_time={"seconds": -(1 << 60)}),
    "a time that no content can hold": pb.Snapshot(
        snapshot_id="x",
        creation_time={"seconds": 32_503_680_000},  # the year 3000
    ),
}


@pytest.mark.parametrize("snapshot", BAD.values(), ids=BAD)
async def test_an_answer_that_makes_no_sense(
    snapshot: pb.Snapshot, driver: FakeCsiDriver, snapshots: Snapshots
) -> None:
    driver.next("CreateSnapshot", Replies(lambda _: pb.CreateSnapshotResponse(snapshot=snapshot)))
    outcome = await snapshots.create(CreateSnapshot("one", "vol-1"), within=5)
    assert isinstance(outcome, Uncertain)
    assert outcome.code is None
