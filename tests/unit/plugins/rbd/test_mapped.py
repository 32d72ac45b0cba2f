"""What is mapped, read from a tree as /sys is."""

from pathlib import Path

import pytest

from mooring.plugins.rbd.mapped import find_device


@pytest.mark.parametrize(
    ("pool", "image", "device"),
    [("rbd", "disk", "dev/rbd12"), ("fast", "disk", "dev/rbd3"), ("rbd", "other", "")],
)
def test_an_image_is_known_by_pool_and_name(
    tmp_path: Path, pool: str, image: str, device: str
) -> None:
    for number, its_pool in (("3", "fast"), ("12", "rbd")):
        entry = tmp_path / "sys/bus/rbd/devices" / number
        entry.mkdir(parents=True)
        (entry / "pool").write_text(f"{its_pool}\n")
        (entry / "name").write_text("disk\n")
    (tmp_path / "sys/bus/rbd/devices/1").mkdir()  # just being unmapped
    assert find_device(pool, image, tmp_path) == (str(tmp_path / device) if device else "")


def test_a_kernel_without_rbd_has_nothing_mapped(tmp_path: Path) -> None:
    assert find_device("rbd", "disk", tmp_path) == ""


@pytest.mark.parametrize(("file", "content"), [("pool_ns", "tenant"), ("current_snap", "monday")])
def test_a_snapshot_and_an_image_of_a_namespace_are_others(
    tmp_path: Path, file: str, content: str
) -> None:
    entry = tmp_path / "sys/bus/rbd/devices/0"
    entry.mkdir(parents=True)
    for name, told in (("pool", "rbd"), ("name", "disk"), ("pool_ns", ""), ("current_snap", "-")):
        (entry / name).write_text(f"{told}\n")
    assert find_device("rbd", "disk", tmp_path) == str(tmp_path / "dev/rbd0")
    (entry / file).write_text(f"{content}\n")
    assert find_device("rbd", "disk", tmp_path) == ""


@pytest.mark.parametrize(
    ("command", "device"),
    [
        ("rbd-nbd\0map\0rbd/disk\0--id\0admin\0", "dev/nbd3"),
        ("/usr/bin/rbd-nbd\0map\0rbd/disk\0", "dev/nbd3"),
        ("rbd-nbd\0map\0rbd/disk2\0", ""),
        ("rbd-nbd\0unmap\0rbd/disk\0", ""),
        ("qemu-nbd\0map\0rbd/disk\0", ""),
        ("", ""),
    ],
)
def test_an_image_behind_a_network_block_device_is_known_by_the_command_that_serves_it(
    tmp_path: Path, command: str, device: str
) -> None:
    for number, pid in (("0", ""), ("1", "no number"), ("2", "77"), ("3", "42")):
        entry = tmp_path / "sys/block" / f"nbd{number}"
        entry.mkdir(parents=True)
        (entry / "pid").write_text(f"{pid}\n")
    process = tmp_path / "proc/42"
    process.mkdir(parents=True)
    (process / "cmdline").write_text(command)
    assert find_device("rbd", "disk", tmp_path) == (str(tmp_path / device) if device else "")
