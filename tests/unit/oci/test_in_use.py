"""Images that must stay: containers on record, and mounts in any namespace."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mooring.oci.contract import ImageConfig, Owner
from mooring.oci.in_use import images_in_use
from mooring.oci.index import Image
from mooring.oci.records import ContainerDirectory, Record

IMAGES = {
    "sha256:one": Image(("11aa", "common"), ImageConfig()),
    "sha256:two": Image(("22bb", "common"), ImageConfig()),
}


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    path = tmp_path / "proc"
    path.mkdir()
    (path / "version").write_text("Linux, 11aa")
    return path


def a_process(proc: Path, pid: int, namespace: int, mountinfo: str) -> None:
    (proc / str(pid) / "ns").mkdir(parents=True)
    (proc / str(pid) / "ns" / "mnt").symlink_to(f"mnt:[{namespace}]")
    (proc / str(pid) / "mountinfo").write_text(mountinfo)


def record(containers: Path, name: str, image_id: str) -> None:
    place = ContainerDirectory(containers / name)
    place.make()
    place.write(
        Record(
            id=name,
            owner=Owner("default", "pod", "uid", "main", 0),
            image_id=image_id,
            notes={},
            log_path="/log",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            boot="now",
        )
    )


def test_nothing(tmp_path: Path, proc: Path) -> None:
    assert images_in_use(IMAGES, None, proc) == frozenset()
    assert images_in_use(IMAGES, tmp_path / "none", proc) == frozenset()


def test_by_a_container_on_record(tmp_path: Path, proc: Path) -> None:
    record(tmp_path / "containers", "a", "sha256:two")
    record(tmp_path / "containers", "b", "sha256:elsewhere")
    (tmp_path / "containers" / "c").mkdir()  # its making was cut short
    assert images_in_use(IMAGES, tmp_path / "containers", proc) == {"sha256:two"}


def test_by_a_mount_in_whichever_namespace(proc: Path) -> None:
    a_process(proc, 1, 1, "1 0 8:1 / / rw - ext4 /dev/sda rw\n")
    a_process(proc, 7, 7, "9 1 0:9 / /x rw - overlay overlay ro,lowerdir=/s/11aa:/s/other\n")
    (proc / "8").mkdir()  # just gone
    assert images_in_use(IMAGES, None, proc) == {"sha256:one"}


def test_by_a_bind_of_its_only_layer(proc: Path) -> None:
    a_process(proc, 1, 1, "9 1 8:1 /images/layers/common /x ro - ext4 /dev/sda rw\n")
    assert images_in_use(IMAGES, None, proc) == set(IMAGES)


def test_a_namespace_is_read_once(proc: Path) -> None:
    for pid, layer in ((1, "11aa"), (2, "22bb")):  # never so: to see which of them was read
        a_process(proc, pid, 1, f"9 1 8:1 /images/layers/{layer} /x ro - ext4 /dev/sda rw\n")
    assert len(images_in_use(IMAGES, None, proc)) == 1
