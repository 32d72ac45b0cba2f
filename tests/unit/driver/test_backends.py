"""The contract of backends: what every one of them does for the controller's calls."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.refusal import EXHAUSTED, EXISTS, NOT_FOUND, OUT_OF_RANGE
from mooring.driver.settings import MIB, ThinPool
from mooring.host import usage
from mooring.host.usage import FilesystemUsage
from tests.fakes.lvm import FakeLvm
from tests.unit.driver.calls import Driver, a_request, refused

Open = Callable[[], Driver]


@pytest.fixture(params=["loop", "lvm"])
def start(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """A driver on one state directory, with 512 MiB; called again, it is restarted."""
    told = FilesystemUsage(512 * MIB, 512 * MIB, 0, 10, 5)
    monkeypatch.setattr(usage, "of_filesystem", lambda _: told)
    fake = FakeLvm()
    fake.add_group()
    monkeypatch.setattr("mooring.host.lvm.run_lvm", fake)
    pool = ThinPool("vg0") if request.param == "lvm" else None
    return lambda: Driver(tmp_path, pool=pool)


def left(driver: Driver) -> int:
    answer = driver.GetCapacity(csi.GetCapacityRequest())
    return int(answer.available_capacity)


def test_a_volume_is_made_once(start: Open) -> None:
    driver = start()
    made = driver.make("data", size=16 * MIB)
    assert made.capacity_bytes == 16 * MIB
    assert driver.make("data", size=16 * MIB) == made
    assert start().make("data", size=16 * MIB) == made
    with refused(EXISTS):
        driver.make("data", size=32 * MIB)


def test_what_is_made_is_taken_from_the_capacity_and_given_back(start: Open) -> None:
    driver = start()
    before = left(driver)
    volume = driver.make("data", size=64 * MIB)
    assert left(driver) == before - 64 * MIB
    driver.delete(volume.volume_id)
    assert left(driver) == before


def test_more_than_is_left_is_refused(start: Open) -> None:
    driver = start()
    driver.make("a", size=400 * MIB)
    with refused(EXHAUSTED, "left to promise"):
        driver.make("b", size=200 * MIB)
    with refused(OUT_OF_RANGE):
        driver.make("c", size=1024 * MIB)
    assert len(driver.ids()) == 1


def test_a_volume_is_deleted_once_and_again(start: Open) -> None:
    driver = start()
    volume = driver.make("data")
    driver.delete(volume.volume_id)
    driver.delete(volume.volume_id)
    assert driver.ids() == []
    assert start().ids() == []


def test_a_volume_grows_and_stays_so(start: Open) -> None:
    driver = start()
    volume = driver.make("data", size=16 * MIB)
    answer = driver.expand(volume.volume_id, 32 * MIB)
    assert (answer.capacity_bytes, answer.node_expansion_required) == (32 * MIB, True)
    assert driver.expand(volume.volume_id, 32 * MIB) == answer
    assert start().expand(volume.volume_id, 20 * MIB).capacity_bytes == 32 * MIB


def test_a_snapshot_outlives_its_volume_and_is_restored_larger(start: Open) -> None:
    driver = start()
    volume = driver.make("data", size=16 * MIB, is_block=True)
    snapshot = driver.snap(volume.volume_id)
    assert snapshot.size_bytes == 16 * MIB
    driver.delete(volume.volume_id)
    again = start()
    restored = again.make(
        "restored", size=32 * MIB, snapshot_id=snapshot.snapshot_id, is_block=True
    )
    assert restored.capacity_bytes == 32 * MIB
    again.unsnap(snapshot.snapshot_id)
    again.unsnap(snapshot.snapshot_id)
    assert again.ids() == [restored.volume_id]


def test_a_clone_has_at_least_the_size_of_its_source(start: Open) -> None:
    driver = start()
    volume = driver.make("data", size=32 * MIB, is_block=True)
    clone = driver.make("clone", size=16 * MIB, volume_id=volume.volume_id, is_block=True)
    assert clone.capacity_bytes == 32 * MIB
    driver.delete(volume.volume_id)
    assert driver.ids() == [clone.volume_id]


def test_groups_appear_and_disappear_with_their_snapshots(start: Open) -> None:
    driver = start()
    volumes = [driver.make(name, is_block=True).volume_id for name in ("a", "b")]
    request = csi.CreateVolumeGroupSnapshotRequest(name="g", source_volume_ids=volumes)
    group = driver.CreateVolumeGroupSnapshot(request).group_snapshot
    ids = [one.snapshot_id for one in group.snapshots]
    assert sorted(one.source_volume_id for one in group.snapshots) == sorted(volumes)
    again = start()
    again.make("restored", snapshot_id=ids[0], is_block=True)
    again.DeleteVolumeGroupSnapshot(
        csi.DeleteVolumeGroupSnapshotRequest(
            group_snapshot_id=group.group_snapshot_id, snapshot_ids=ids
        )
    )
    assert len(again.ListSnapshots(csi.ListSnapshotsRequest()).entries) == 0


def test_a_source_that_is_not_there_makes_nothing(start: Open) -> None:
    driver = start()
    with refused(NOT_FOUND):
        driver.CreateVolume(a_request("x", volume_id="vol-" + "0" * 32))
    assert driver.ids() == []


def test_a_new_volume_is_in_order(start: Open) -> None:
    driver = start()
    volume = driver.make("data")
    listed = driver.ListVolumes(csi.ListVolumesRequest()).entries
    assert [one.status.volume_condition.abnormal for one in listed] == [False], listed
    request = csi.ControllerGetVolumeHealthRequest(volume_id=volume.volume_id)
    assert len(driver.ControllerGetVolumeHealth(request).volume_health.health_statuses) == 0
