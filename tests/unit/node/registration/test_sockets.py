"""Sockets that come and go in a directory."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.node.registration.plan import SocketId
from mooring.node.registration.sockets import NET_SECONDS, SocketWatch, scan
from tests.fakes.clock import VirtualClock
from tests.fakes.waiting import until


def listen(path: Path) -> Path:
    """A socket as a process that was killed leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    return path


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")


def test_only_sockets_count_wherever_they_are(place: Path) -> None:
    found = {listen(place / "a.sock"), listen(place / "driver" / "b.sock")}
    listen(place / ".hidden.sock")
    listen(place / ".hidden" / "c.sock")
    (place / "file").touch()
    (place / "dangling").symlink_to("nowhere")
    seen = scan(place)
    assert set(seen.sockets) == found
    assert seen.directories == {place, place / "driver"}


def test_a_directory_that_is_not_there_is_empty(place: Path) -> None:
    assert scan(place / "nowhere").sockets == {}


def test_being_talked_to_does_not_make_it_another_socket(place: Path) -> None:
    path = place / "a.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        before = scan(place).sockets
        path.chmod(0o600)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
        assert scan(place).sockets == before


def test_a_socket_made_anew_is_another(place: Path) -> None:
    path = listen(place / "a.sock")
    before = scan(place).sockets[path]
    path.unlink()
    listen(path)
    assert scan(place).sockets[path] != before


class Watched:
    def __init__(self, directory: Path, clock: VirtualClock) -> None:
        self.told: list[Mapping[Path, SocketId]] = []
        self._watch = SocketWatch(directory, clock, self.told.append)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch.run())
        await until(lambda: bool(self.told))
        yield
        task.cancel()
        await asyncio.wait([task])

    def names(self) -> set[str]:
        return {path.name for path in self.told[-1]}


async def test_what_is_there_is_told_first_and_then_what_changes(place: Path) -> None:
    first = listen(place / "first.sock")
    watched = Watched(place, VirtualClock())
    async with watched.running():
        assert watched.names() == {"first.sock"}
        listen(place / "second.sock")
        await until(lambda: watched.names() == {"first.sock", "second.sock"})
        first.unlink()
        await until(lambda: watched.names() == {"second.sock"})


async def test_directories_that_come_later_are_watched_too(place: Path) -> None:
    watched = Watched(place, VirtualClock())
    async with watched.running():
        deep = listen(place / "new" / "deep" / "a.sock")
        await until(lambda: watched.names() == {"a.sock"})
        deep.unlink()
        await until(lambda: watched.names() == set())
        count = len(watched.told)
        deep.parent.rmdir()
        deep.parent.mkdir()
        await until(lambda: len(watched.told) > count)
        listen(deep)
        await until(lambda: watched.names() == {"a.sock"})


async def test_a_directory_that_comes_only_later(place: Path) -> None:
    clock = VirtualClock()
    watched = Watched(place / "later", clock)
    async with watched.running():
        listen(place / "later" / "a.sock")
        count = len(watched.told)
        await clock.advance(NET_SECONDS)
        await until(lambda: len(watched.told) > count)
        assert watched.names() == {"a.sock"}


async def test_nothing_is_left_open(place: Path) -> None:
    before = _watches()
    async with Watched(place, VirtualClock()).running():
        assert _watches() == before + 1
    assert _watches() == before


def _watches() -> int:
    """Of this process; other descriptors come and go with other tests' garbage."""
    opened = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(each).endswith("anon_inode:inotify") for each in opened)
