"""Group snapshots: all of one moment, together there and together gone."""

from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends import image
from mooring.driver.refusal import ABORTED, EXISTS, INVALID, NOT_FOUND
from mooring.errors import HostError
from tests.unit.driver.calls import Driver, refused


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def group(driver: Driver, *volumes: str, name: str = "night") -> csi.VolumeGroupSnapshot:
    request = csi.CreateVolumeGroupSnapshotRequest(name=name, source_volume_ids=volumes)
    made: csi.VolumeGroupSnapshot = driver.CreateVolumeGroupSnapshot(request).group_snapshot
    return made


def ungroup(driver: Driver, group_id: str, *snapshots: str) -> None:
    request = csi.DeleteVolumeGroupSnapshotRequest(
        group_snapshot_id=group_id, snapshot_ids=snapshots
    )
    driver.DeleteVolumeGroupSnapshot(request)


def listed(driver: Driver) -> list[str]:
    entries = driver.ListSnapshots(csi.ListSnapshotsRequest()).entries
    return [entry.snapshot.snapshot_id for entry in entries]


def members(made: csi.VolumeGroupSnapshot) -> list[str]:
    return [one.snapshot_id for one in made.snapshots]


def test_a_group_has_a_snapshot_of_each_volume_and_each_can_be_restored(
    driver: Driver, tmp_path: Path
) -> None:
    volumes = sorted(driver.make(name).volume_id for name in ("a", "b"))
    for volume in volumes:
        driver.image(volume).write_bytes(volume.encode())
    made = group(driver, *volumes)
    assert [one.source_volume_id for one in made.snapshots] == volumes
    assert {one.group_snapshot_id for one in made.snapshots} == {made.group_snapshot_id}
    assert {one.creation_time.ToNanoseconds() for one in made.snapshots} == {
        made.creation_time.ToNanoseconds()
    }
    assert made.ready_to_use
    for volume in volumes:
        driver.delete(volume)
    again = Driver(tmp_path)
    assert sorted(members(made)) == listed(again)
    for one in made.snapshots:
        restored = again.make(f"r-{one.source_volume_id}", snapshot_id=one.snapshot_id)
        content = again.image(restored.volume_id).read_bytes()
        assert content.startswith(one.source_volume_id.encode())
    request = csi.GetVolumeGroupSnapshotRequest(
        group_snapshot_id=made.group_snapshot_id, snapshot_ids=members(made)
    )
    assert again.GetVolumeGroupSnapshot(request).group_snapshot == made
    snapshot = again.GetSnapshot(csi.GetSnapshotRequest(snapshot_id=members(made)[0])).snapshot
    assert snapshot == made.snapshots[0]


def test_one_name_is_one_group_in_whatever_order_its_volumes_are_named(driver: Driver) -> None:
    first, second = driver.make("a").volume_id, driver.make("b").volume_id
    made = group(driver, first, second)
    assert group(driver, second, first) == made
    with refused(EXISTS, "of other volumes"):
        group(driver, first)


def test_a_group_goes_whole_and_again(driver: Driver) -> None:
    made = group(driver, driver.make("a").volume_id, driver.make("b").volume_id)
    with refused(INVALID, "goes with it"):
        driver.unsnap(members(made)[0])
    with refused(INVALID, "not those of"):
        ungroup(driver, made.group_snapshot_id, members(made)[0])
    for _ in range(2):
        ungroup(driver, made.group_snapshot_id, *members(made))
    assert listed(driver) == []
    assert list((driver.core.state.root / "groups").iterdir()) == []


WRONG = {
    "no volumes": [],
    "a volume twice": ["a", "a"],
    "an empty id": [""],
}


@pytest.mark.parametrize("volumes", WRONG.values(), ids=WRONG)
def test_what_is_no_group(driver: Driver, volumes: list[str]) -> None:
    with refused(INVALID, "source_volume_ids"):
        group(driver, *volumes)


def test_a_group_of_a_volume_that_is_missing_leaves_nothing(driver: Driver) -> None:
    with refused(NOT_FOUND, "there is no volume"):
        group(driver, driver.make("a").volume_id, "vol-none")
    with refused(NOT_FOUND, "there is no group snapshot"):
        driver.GetVolumeGroupSnapshot(csi.GetVolumeGroupSnapshotRequest(group_snapshot_id="x"))
    assert list((driver.core.state.root / "making").iterdir()) == []


def test_a_group_that_fails_halfway_leaves_no_snapshot(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    volumes = [driver.make(name).volume_id for name in ("a", "b")]
    real, made = image.Copy.make, []

    def make(self: image.Copy) -> None:
        made.append(self)
        if len(made) == 2:
            raise HostError("the disk is gone")
        real(self)

    monkeypatch.setattr(image.Copy, "make", make)
    with pytest.raises(HostError, match="the disk is gone"):
        group(driver, *volumes)
    assert listed(driver) == []
    assert list((driver.core.state.root / "making").iterdir()) == []
    monkeypatch.undo()
    assert len(group(driver, *volumes).snapshots) == 2


def test_a_group_waits_for_no_other_call(driver: Driver) -> None:
    volume = driver.make("a").volume_id
    with driver.core.in_flight.holding(volume), refused(ABORTED, volume):
        group(driver, volume)
