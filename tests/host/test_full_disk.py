"""A disk without room: what is stored is served, writes are refused in words, and nothing ends."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.real_server import ApiServer, RealServer
from tests.fakes.waiting import until

Doc = dict[str, Any]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SIZE = "6m"
REMEDY = "free some there"


@pytest.fixture
def disk(needs_root: None, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "disk", str(path))
    yield path
    _run("umount", "--lazy", str(path))


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)  # noqa: S603  a test's own words


class Room:
    """All the room there is on the disk, taken and given back."""

    def __init__(self, disk: Path) -> None:
        self._file = disk / "other-data"

    def take(self) -> None:
        with self._file.open("ab", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                return

    def give_back(self) -> None:
        self._file.unlink()


@pytest.fixture(params=[ApiServer, RealServer], ids=["apiserver", "up"])
def server(disk: Path, request: pytest.FixtureRequest) -> Iterator[RealServer]:
    running: RealServer = request.param(disk / "data")
    running.start()
    yield running
    running.kill()


def a_map(name: str, size: int = 0) -> Doc:
    return {"metadata": {"name": name}, "data": {"x": "y" * size}}


def is_ready(server: RealServer) -> bool:
    return server.ask("GET", "/readyz").code == 200


def written(server: RealServer, name: str, size: int = 0) -> int:
    return server.ask("POST", CONFIG_MAPS, a_map(name, size)).code


def fill(server: RealServer, disk: Path) -> Room:
    """After: nothing can be written."""
    room = Room(disk)
    room.take()
    for number in range(100):  # the log has some room of its own
        if written(server, f"filler-{number}", 100_000) != 201:
            return room
        room.take()
    raise AssertionError("the disk is not full")


async def test_a_full_disk_refuses_writes_and_nothing_else(server: RealServer, disk: Path) -> None:
    assert written(server, "before") == 201
    room = fill(server, disk)
    refused = server.ask("POST", CONFIG_MAPS, a_map("late"))
    assert (refused.code, refused.doc["reason"]) == (500, "InternalError")
    assert REMEDY in refused.doc["message"]
    assert server.ask("GET", f"{CONFIG_MAPS}/before").code == 200
    assert server.ask("GET", "/livez").code == 200
    assert not is_ready(server)
    assert b"full" in server.ask("GET", "/readyz/store").body
    room.give_back()
    await until(lambda: is_ready(server))  # without a write, and without a restart
    assert written(server, "after") == 201


async def test_it_starts_on_a_full_disk_and_serves_what_is_there(
    server: RealServer, disk: Path
) -> None:
    assert written(server, "before") == 201
    room = fill(server, disk)
    server.kill()
    room.take()
    for start in range(2):
        server.start()
        assert server.ask("GET", f"{CONFIG_MAPS}/before").code == 200, start
        server.kill()
    server.port = 0  # another port: the kubeconfig and the Service have to be written
    server.start()
    assert server.ask("GET", f"{CONFIG_MAPS}/before").code == 200
    room.give_back()
    await until(lambda: is_ready(server) and written(server, "after") == 201)

    def announced() -> bool:
        service = server.ask("GET", "/api/v1/namespaces/default/services/kubernetes").doc
        return bool(service["spec"]["ports"][0]["port"] == server.port)

    await until(announced)
    assert server.stop() == 0
