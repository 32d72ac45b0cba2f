"""A driver as a child process: what it is started with, and what becomes of it."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.errors import UsageError
from mooring.stack.driver_process import (
    Command,
    DriverEnded,
    DriverProcess,
    command_of,
    ended_how,
)

SOCKET = Path("/run/x/csi.sock")


def test_its_arguments_and_its_environment_name_the_endpoint() -> None:
    words = ("drv", "--endpoint={endpoint}", "{socket}", "--nodeid", "{node}", "{other}")
    made = command_of(words, SOCKET, "n1", {"PATH": "/bin", "CSI_ENDPOINT": "old"})
    assert made.argv == (
        *("drv", "--endpoint=unix:///run/x/csi.sock", "/run/x/csi.sock"),
        *("--nodeid", "n1", "{other}"),
    )
    assert made.environment == {
        "PATH": "/bin",
        "CSI_ENDPOINT": "unix:///run/x/csi.sock",
        "NODE_ID": "n1",
    }
    assert command_of((), SOCKET, "n1", {"NODE_ID": "mine"}).environment["NODE_ID"] == "mine"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, "ended with code 0"),
        (3, "ended with code 3"),
        (-9, "was killed by SIGKILL"),
        (-250, "was killed by signal 250"),
    ],
)
def test_how_it_ended_is_said(code: int, said: str) -> None:
    assert ended_how(code) == said


def a_process(tmp_path: Path, script: str, told: list[str]) -> DriverProcess:
    command = Command((sys.executable, "-c", script), {})
    return DriverProcess(command, tmp_path / "csi.sock", RealClock(), told.append)


async def test_one_that_never_answered_is_not_started_again(tmp_path: Path) -> None:
    with pytest.raises(DriverEnded, match="ended with code 3 before its socket answered"):
        await a_process(tmp_path, "raise SystemExit(3)", []).run()


async def test_one_that_answered_is_started_again_and_its_old_socket_is_gone(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    (tmp_path / "csi.sock").touch()
    script = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')"
    process = a_process(tmp_path, script, told)
    process.has_answered = True
    running = asyncio.create_task(process.run())
    async with asyncio.timeout(60):
        while len(told) < 2:
            await asyncio.wait([running], timeout=0.02)
    running.cancel()
    await asyncio.wait([running])
    assert told[0] == "the driver ended with code 0; it is started again in 0.5 s"
    assert told[1].endswith("in 1 s")
    assert not (tmp_path / "csi.sock").exists()
    assert (tmp_path / "runs").read_text() == "xx"


async def test_when_it_is_stopped_the_program_has_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    running = asyncio.create_task(a_process(tmp_path, script, []).run())
    async with asyncio.timeout(60):
        while not (pid.exists() and pid.read_text()):
            await asyncio.wait([running], timeout=0.02)
    running.cancel()
    await asyncio.wait([running])
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = Command(("/no/such/program",), {})
    with pytest.raises(UsageError, match="cannot start /no/such/program: No such file"):
        await DriverProcess(command, tmp_path / "s", RealClock(), print).run()
