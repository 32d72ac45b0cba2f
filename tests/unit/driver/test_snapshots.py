from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends import image
from mooring.driver.refusal import ABORTED, EXISTS, INVALID, NOT_FOUND
from mooring.driver.settings import MIB
from tests.fakes.clock import START
from tests.unit.driver.calls import Driver, a_request, refused


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def write(driver: Driver, volume_id: str, content: bytes, at: int = 0) -> None:
    with driver.image(volume_id).open("r+b") as file:
        file.seek(at)
        file.write(content)


def read(driver: Driver, volume_id: str, length: int, at: int = 0) -> bytes:
    with driver.image(volume_id).open("rb") as file:
        file.seek(at)
        return file.read(length)


def test_a_snapshot_is_what_the_volume_was(driver: Driver) -> None:
    volume = driver.make().volume_id
    write(driver, volume, b"before", at=MIB)
    snapshot = driver.snap(volume)
    write(driver, volume, b"after!", at=MIB)
    restored = driver.make("restored", size=0, snapshot_id=snapshot.snapshot_id)
    assert read(driver, restored.volume_id, 6, at=MIB) == b"before"
    assert restored.content_source.snapshot.snapshot_id == snapshot.snapshot_id
    assert restored.capacity_bytes == snapshot.size_bytes == 16 * MIB
    assert snapshot.ready_to_use
    assert snapshot.creation_time.ToDatetime().replace(tzinfo=START.tzinfo) == START


def test_a_clone_is_what_the_volume_is_and_goes_its_own_way(driver: Driver) -> None:
    volume = driver.make(is_block=True).volume_id
    write(driver, volume, b"one")
    clone = driver.make("clone", size=32 * MIB, volume_id=volume, is_block=True)
    assert clone.content_source.volume.volume_id == volume
    assert clone.capacity_bytes == driver.image(clone.volume_id).stat().st_size == 32 * MIB
    write(driver, clone.volume_id, b"two")
    assert (read(driver, volume, 3), read(driver, clone.volume_id, 3)) == (b"one", b"two")


def test_copies_are_sparse(driver: Driver) -> None:
    volume = driver.make(size=256 * MIB).volume_id
    write(driver, volume, b"x", at=200 * MIB)
    snapshot = driver.snap(volume)
    copy = driver.core.state.snapshots.image(snapshot.snapshot_id)
    assert image.allocated_bytes(copy) < MIB
    assert copy.stat().st_size == 256 * MIB


def test_a_snapshot_outlives_its_volume(driver: Driver, tmp_path: Path) -> None:
    volume = driver.make().volume_id
    write(driver, volume, b"kept")
    snapshot = driver.snap(volume)
    driver.delete(volume)
    again = Driver(tmp_path)
    restored = again.make("restored", snapshot_id=snapshot.snapshot_id)
    assert read(again, restored.volume_id, 4) == b"kept"


def test_one_name_is_one_snapshot(driver: Driver) -> None:
    first, second = driver.make("a").volume_id, driver.make("b").volume_id
    snapshot = driver.snap(first)
    assert driver.snap(first) == snapshot
    with refused(EXISTS, first):
        driver.snap(second)


def test_deleting_is_repeated_for_ever(driver: Driver) -> None:
    snapshot = driver.snap(driver.make().volume_id)
    for identifier in (snapshot.snapshot_id, snapshot.snapshot_id, "../x", "unknown"):
        driver.DeleteSnapshot(csi.DeleteSnapshotRequest(snapshot_id=identifier))
    with refused(NOT_FOUND):
        driver.GetSnapshot(csi.GetSnapshotRequest(snapshot_id=snapshot.snapshot_id))
    with refused(INVALID):
        driver.DeleteSnapshot(csi.DeleteSnapshotRequest())


def test_what_is_not_cut(driver: Driver) -> None:
    with refused(NOT_FOUND):
        driver.snap("unknown")
    with refused(INVALID, "source_volume_id"):
        driver.snap("")
    with refused(INVALID, "'full'"):
        driver.CreateSnapshot(
            csi.CreateSnapshotRequest(
                name="s",
                source_volume_id="v",
                parameters={"full": "yes", "csi.storage.k8s.io/x": ""},
            )
        )


def test_a_snapshot_is_not_deleted_while_it_is_restored(driver: Driver) -> None:
    snapshot = driver.snap(driver.make().volume_id).snapshot_id
    with driver.core.in_flight.holding("other", reading=[snapshot]):
        with refused(ABORTED):
            driver.DeleteSnapshot(csi.DeleteSnapshotRequest(snapshot_id=snapshot))
        driver.make("restored", snapshot_id=snapshot)


def test_a_volume_can_be_restored_to_a_device_and_the_other_way_round(driver: Driver) -> None:
    device = driver.make("device", is_block=True).volume_id
    assert driver.make("mounted", volume_id=device).volume_id
    mounted = driver.make("fs").volume_id
    assert driver.make("raw", volume_id=mounted, is_block=True).volume_id


def test_a_copy_that_fails_leaves_nothing(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    volume = driver.make().volume_id
    write(driver, volume, b"x" * MIB)

    def no_room(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", no_room)
    monkeypatch.setattr(image, "_share", lambda *_: False)
    with pytest.raises(Exception, match="no space left"):
        driver.snap(volume)
    with pytest.raises(Exception, match="no space left"):
        driver.CreateVolume(a_request("clone", volume_id=volume))
    assert [*(tmp_path / "snapshots").iterdir(), *(tmp_path / "making").iterdir()] == []
    assert driver.ids() == [volume]
