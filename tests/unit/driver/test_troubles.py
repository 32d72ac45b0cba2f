"""Health from the real file: by the RPCs of 1.13, and by the condition of 1.12."""

from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.refusal import NOT_FOUND
from mooring.errors import HostError
from mooring.host import usage
from mooring.host.usage import FilesystemUsage
from tests.unit.driver.calls import Driver, refused

FULL = FilesystemUsage(100, 0, 100, 10, 5)


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def health(driver: Driver, volume: str) -> list[tuple[int, str]]:
    request = csi.ControllerGetVolumeHealthRequest(volume_id=volume)
    told = driver.ControllerGetVolumeHealth(request).volume_health
    on_node = csi.NodeGetVolumeHealthRequest(volume_id=volume)
    assert driver.NodeGetVolumeHealth(on_node).volume_health == told
    condition = driver.ControllerGetVolume(
        csi.ControllerGetVolumeRequest(volume_id=volume)
    ).status.volume_condition
    assert condition.abnormal == bool(told.health_statuses)
    listed = driver.ControllerListVolumeHealth(csi.ControllerListVolumeHealthRequest()).entries
    assert list(listed) == ([told] if told.health_statuses else [])
    return [(each.status, each.reason) for each in told.health_statuses]


def test_a_volume_in_order_is_healthy(driver: Driver) -> None:
    assert health(driver, driver.make().volume_id) == []


def test_a_missing_image(driver: Driver) -> None:
    volume = driver.make().volume_id
    driver.image(volume).unlink()
    assert health(driver, volume) == [(csi.DATA_LOSS, "ImageMissing")]


def test_a_truncated_image(driver: Driver) -> None:
    volume = driver.make().volume_id
    with driver.image(volume).open("r+b") as file:
        file.truncate(4096)
    assert health(driver, volume) == [(csi.DATA_LOSS, "ImageTruncated")]


def test_an_image_that_cannot_be_read(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    volume = driver.make().volume_id
    driver.image(volume).write_bytes(b"x" * (16 << 20))

    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("mooring.driver.backends.image.os.pread", broken)
    assert health(driver, volume) == [(csi.DATA_LOSS, "ReadError")]


def test_a_full_disk_degrades_volumes_and_the_storage(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = driver.make().volume_id
    ask = csi.NodeGetStorageHealthRequest()
    assert list(driver.NodeGetStorageHealth(ask).backend_health) == []
    monkeypatch.setattr(usage, "of_filesystem", lambda _: FULL)
    assert health(driver, volume) == [(csi.DEGRADED, "PoolFull")]
    (told,) = driver.NodeGetStorageHealth(ask).backend_health
    assert (told.status, told.reason) == (csi.STORAGE_DEGRADED, "PoolFull")


def test_a_disk_that_does_not_answer_is_unreachable(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Path) -> FilesystemUsage:
        raise HostError("statfs: gone")

    monkeypatch.setattr(usage, "of_filesystem", broken)
    (told,) = driver.NodeGetStorageHealth(csi.NodeGetStorageHealthRequest()).backend_health
    assert (told.status, told.message) == (csi.STORAGE_UNREACHABLE, "statfs: gone")


def test_pages_of_health_go_on_over_volumes_in_order(driver: Driver) -> None:
    volumes = sorted(driver.make(name).volume_id for name in ("a", "b", "c"))
    driver.image(volumes[2]).unlink()
    token, found = "", []
    while True:
        request = csi.ControllerListVolumeHealthRequest(max_entries=1, starting_token=token)
        page = driver.ControllerListVolumeHealth(request)
        found += [entry.volume_id for entry in page.entries]
        if not (token := page.next_token):
            break
    assert found == [volumes[2]]


def test_a_volume_that_does_not_exist_has_no_health(driver: Driver) -> None:
    with refused(NOT_FOUND):
        driver.ControllerGetVolumeHealth(csi.ControllerGetVolumeHealthRequest(volume_id="x"))
    with refused(NOT_FOUND):
        driver.NodeGetVolumeHealth(csi.NodeGetVolumeHealthRequest(volume_id="x"))
