"""Plugin registration: both ends of the socket, and which versions will do."""

import stat
from pathlib import Path

import pytest

from mooring.csi.channel import Connection
from mooring.csi.outcome import Code, Done, Uncertain
from mooring.csi.plugin_info import (
    CSI_PLUGIN,
    OFFERED_VERSIONS,
    Plugin,
    RegistrationStatus,
)
from mooring.csi.registration import Registration, offering, registration_socket
from mooring.csi.serve import LONGEST_PATH
from mooring.errors import UsageError

PLUGIN = Plugin(CSI_PLUGIN, "fake.csi", "/var/lib/plugins/fake/csi.sock", OFFERED_VERSIONS)
ACCEPTED = RegistrationStatus(registered=True)
REFUSED = RegistrationStatus(registered=False, error="no node")


async def test_what_is_offered_is_what_is_asked(tmp_path: Path) -> None:
    socket = registration_socket(tmp_path, "fake.csi")
    told: list[RegistrationStatus] = []
    async with offering(socket, PLUGIN, told.append), Connection(str(socket)) as connection:
        assert socket.name == "fake.csi-reg.sock"
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        registration = Registration(connection)
        assert await registration.get_info(within=1) == Done(PLUGIN)
        for status in (ACCEPTED, REFUSED):
            assert await registration.notify(status, within=5) == Done(None)
    assert told == [ACCEPTED, REFUSED]
    assert not socket.exists()


async def test_a_socket_that_was_left_behind_is_taken_over(tmp_path: Path) -> None:
    socket = tmp_path / "reg.sock"
    async with offering(socket, PLUGIN, lambda _: None):
        hidden = socket.with_name("kept")
        socket.rename(hidden)
    hidden.rename(socket)
    async with Connection(str(socket)) as connection:
        outcome = await Registration(connection).get_info(within=1)
        assert isinstance(outcome, Uncertain)
        assert outcome.code is Code.UNAVAILABLE
    async with offering(socket, PLUGIN, lambda _: None), Connection(str(socket)) as connection:
        assert await Registration(connection).get_info(within=1) == Done(PLUGIN)


async def test_a_path_that_no_socket_can_have(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is too long for a socket: at most 107 bytes work"):
        async with offering(tmp_path / ("x" * LONGEST_PATH), PLUGIN, lambda _: None):
            pass


async def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot listen on"):
        async with offering(tmp_path / "missing" / "reg.sock", PLUGIN, lambda _: None):
            pass
