"""What the kernel reports of the writes to a device: all of them, and in time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import loop_device, write_trace
from mooring.host.mount_calls import open_file_system

MIB = 1 << 20


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() or not Path("/dev/loop-control").exists():
        pytest.skip("needs root and loop devices")
    try:
        os.close(open_file_system("tracefs"))
    except HostError as error:
        pytest.skip(f"needs tracefs: {error}")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    attached = loop_device.attach(image)
    yield attached
    loop_device.detach(attached)


@contextmanager
def opened(device: Path) -> Iterator[int]:
    file = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


def instances() -> set[str]:
    root = open_file_system("tracefs")
    try:
        found = os.open("instances", os.O_RDONLY, dir_fd=root)
        try:
            return set(os.listdir(found))
        finally:
            os.close(found)
    finally:
        os.close(root)


def left_of(device: Path) -> list[str]:
    return [name for name in instances() if name.startswith(f"mooring-{device.name}-")]


def test_each_write_that_has_ended_is_reported_once(device: Path) -> None:
    with write_trace.write_trace(device) as trace, opened(device) as file:
        assert trace.take() == []
        os.pwrite(file, b"x" * 8192, 4096)
        os.pwrite(file, b"y" * 4096, 12288)
        os.pwrite(file, b"z" * 4096, 10 * MIB)
        os.fsync(file)
        assert trace.take() == [(4096, 16384), (10 * MIB, 10 * MIB + 4096)]
        assert trace.take() == []
        os.pread(file, 4096, 20 * MIB)
        assert trace.take() == []


def test_that_events_were_lost_is_known_and_the_next_ones_count_again(
    device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_trace, "BUFFER_KIB", 4)
    with write_trace.write_trace(device) as trace, opened(device) as file:
        for number in range(2000):
            os.pwrite(file, b"x" * 4096, number % 1000 * 8192)
            if number % 10 == 0:
                os.fsync(file)
        os.fsync(file)
        assert trace.take() is None
        os.pwrite(file, b"x" * 4096, 0)
        os.fsync(file)
        assert trace.take() == [(0, 4096)]


def test_nothing_is_left_in_the_kernel_even_of_a_process_that_was_killed(device: Path) -> None:
    if not (killed := os.fork()):
        with write_trace.write_trace(device):
            os._exit(0)  # as a kill does: nothing is tidied up
    os.waitpid(killed, 0)
    assert left_of(device)
    with write_trace.write_trace(device) as trace:
        assert trace.take() == []
    assert not left_of(device)


def test_two_follow_one_device_and_both_hear_everything(device: Path) -> None:
    with write_trace.write_trace(device) as one, opened(device) as file:
        with write_trace.write_trace(device) as other:
            os.pwrite(file, b"x" * 4096, 4096)
            os.fsync(file)
            assert other.take() == [(4096, 8192)]
        os.pwrite(file, b"x" * 4096, 8192)
        os.fsync(file)
        assert one.take() == [(4096, 12288)]
