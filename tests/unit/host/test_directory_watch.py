"""Hearing of changes in a directory, of none that are missed, and of what cannot be watched."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import KernelRefused
from mooring.host.directory_watch import DirectoryWatch, DirectoryWatches

PATIENCE = 10.0  # seconds


def write(directory: Path) -> None:
    with (directory / "file").open("a") as file:
        file.write("more")


def make(directory: Path) -> None:
    (directory / "new").touch()


def move_here(directory: Path) -> None:
    (directory.parent / "elsewhere").rename(directory / "moved")


def move_away(directory: Path) -> None:
    (directory / "file").rename(directory.parent / "moved")


def remove(directory: Path) -> None:
    (directory / "file").unlink()


async def heard(watch: DirectoryWatch) -> None:
    async with asyncio.timeout(PATIENCE):
        await watch.changed()


async def is_quiet(watch: DirectoryWatch) -> bool:
    waiting = asyncio.ensure_future(watch.changed())
    await asyncio.wait([waiting], timeout=0.05)
    return waiting.cancel()


@pytest.mark.parametrize(
    "change",
    [write, make, move_here, move_away, remove],
    ids=lambda change: change.__name__,
)
async def test_a_change_is_heard_once(tmp_path: Path, change: Callable[[Path], None]) -> None:
    directory = a_directory(tmp_path)
    with DirectoryWatches().of(directory) as watch:
        change(directory)
        await heard(watch)
        assert await is_quiet(watch)
        write(directory)
        await heard(watch)


async def test_watches_share_an_instance_and_hear_only_of_their_directory(tmp_path: Path) -> None:
    directory, watches = a_directory(tmp_path), DirectoryWatches()
    with watches.of(tmp_path) as other, watches.of(directory) as first:
        opened = len(os.listdir("/proc/self/fd"))
        with watches.of(directory) as second:
            assert len(os.listdir("/proc/self/fd")) == opened
            write(directory)
            await heard(first)
            await heard(second)
        write(directory)
        await heard(first)
        assert await is_quiet(other)


async def test_a_directory_that_goes_away_is_told_and_no_harm(tmp_path: Path) -> None:
    directory = tmp_path / "short-lived"
    directory.mkdir()
    with DirectoryWatches().of(directory) as watch:
        directory.rmdir()
        await heard(watch)


async def test_nothing_is_left_open(tmp_path: Path) -> None:
    directory, before = a_directory(tmp_path), os.listdir("/proc/self/fd")
    watches = DirectoryWatches()
    for _ in range(2):
        with watches.of(directory):
            pass
    assert os.listdir("/proc/self/fd") == before


async def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    directory, before = a_directory(tmp_path), os.listdir("/proc/self/fd")
    watches = DirectoryWatches()
    with (
        pytest.raises(KernelRefused, match="file: not a directory"),
        watches.of(directory / "file"),
    ):
        pass
    assert os.listdir("/proc/self/fd") == before


def a_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "watched"
    directory.mkdir()
    (directory / "file").touch()
    (tmp_path / "elsewhere").touch()
    return directory
