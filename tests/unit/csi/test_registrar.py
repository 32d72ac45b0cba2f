"""A registrar on a real socket, with a node agent's end at the other side."""

import asyncio
import os
import socket as socketlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from mooring.csi.channel import Connection
from mooring.csi.outcome import Done
from mooring.csi.plugin_info import Plugin, RegistrationStatus
from mooring.csi.registrar import NotRegistered, Offer, run
from mooring.csi.registration import Registration, registration_socket
from tests.fakes.clock import settle
from tests.fakes.waiting import until

DRIVER = "d.example.com"
WAITING = "waiting for another registrar to end"


async def test_a_node_agent_is_told_where_the_driver_is(tmp_path: Path) -> None:
    socket = registration_socket(tmp_path, DRIVER)
    serving = asyncio.create_task(run(Offer(DRIVER, "/run/csi.sock", tmp_path)))
    async with Connection(str(socket)) as connection:
        agent = Registration(connection)
        await connection.wait_ready()
        told = await agent.get_info(within=5)
        assert told == Done(Plugin("CSIPlugin", DRIVER, "/run/csi.sock", ("1.0.0",)))
        assert socket.stat().st_mode & 0o777 == 0o600
        await agent.notify(RegistrationStatus(registered=True), within=5)
        await settle()
        assert not serving.done()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert not socket.exists()


async def test_a_driver_that_is_refused_ends_the_registrar(tmp_path: Path) -> None:
    serving = asyncio.create_task(run(Offer(DRIVER, "/run/csi.sock", tmp_path)))
    async with Connection(str(registration_socket(tmp_path, DRIVER))) as connection:
        await connection.wait_ready()
        refusal = RegistrationStatus(registered=False, error="no such node")
        await Registration(connection).notify(refusal, within=5)
        with pytest.raises(NotRegistered, match=f"{DRIVER} was not registered: no such node"):
            await serving


@asynccontextmanager
async def a_registrar(directory: Path) -> AsyncIterator[None]:
    task = asyncio.create_task(run(Offer(DRIVER, "/run/csi.sock", directory)))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def answers(socket: Path) -> bool:
    async with Connection(str(socket)) as connection:
        return isinstance(await Registration(connection).get_info(within=5), Done)


def inode(socket: Path) -> int:
    return socket.stat().st_ino if socket.exists() else 0


async def test_a_second_registrar_waits_and_its_end_leaves_the_first_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    socket = registration_socket(tmp_path, DRIVER)
    async with a_registrar(tmp_path):
        await until(lambda: inode(socket) > 0)
        first = inode(socket)
        async with a_registrar(tmp_path):
            await until(lambda: WAITING in caplog.text)
            assert inode(socket) == first
        assert inode(socket) == first
        assert await answers(socket)
    assert inode(socket) == 0


async def test_a_second_registrar_takes_over_when_the_first_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    socket = registration_socket(tmp_path, DRIVER)
    async with AsyncExitStack() as second:
        async with a_registrar(tmp_path):
            await until(lambda: inode(socket) > 0)
            await second.enter_async_context(a_registrar(tmp_path))
            await until(lambda: WAITING in caplog.text)
        await until(lambda: inode(socket) > 0)
        assert await answers(socket)


async def test_a_registrar_takes_nobody_elses_socket_away(tmp_path: Path) -> None:
    """Upstream's registrar replaces what is there."""
    socket = registration_socket(tmp_path, DRIVER)
    with socketlib.socket(socketlib.AF_UNIX) as other:
        async with a_registrar(tmp_path):
            await until(lambda: inode(socket) > 0)
            os.unlink(socket)
            other.bind(str(socket))
        assert inode(socket) > 0


async def test_what_a_killed_registrar_left_behind_is_replaced(tmp_path: Path) -> None:
    socket = registration_socket(tmp_path, DRIVER)
    with socketlib.socket(socketlib.AF_UNIX) as dead:
        dead.bind(str(socket))
    left = inode(socket)
    async with a_registrar(tmp_path):
        await until(lambda: inode(socket) != left)
        assert await answers(socket)
