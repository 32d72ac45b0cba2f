"""A registrar on a real socket, with a node agent's end at the other side."""

import asyncio
from pathlib import Path

import pytest

from mooring.csi.channel import Connection
from mooring.csi.outcome import Done
from mooring.csi.plugin_info import Plugin, RegistrationStatus
from mooring.csi.registrar import NotRegistered, Offer, run
from mooring.csi.registration import Registration, registration_socket
from tests.fakes.clock import settle

DRIVER = "d.example.com"


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
