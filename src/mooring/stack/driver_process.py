"""Somebody's CSI driver as a child process: started, told of when it dies, started again."""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.clock import Clock
from mooring.errors import MooringError, UsageError
from mooring.host.blocking import in_thread
from mooring.model.backoff import Backoff

AGAIN = Backoff(first=0.5, cap=30.0)
STEADY_SECONDS = 60.0  # one that ran for so long begins with the first pause again
GRACE_SECONDS = 10.0  # between SIGTERM and SIGKILL

Say = Callable[[str], None]


class DriverEnded(MooringError):
    """It ended before it ever answered."""


class Command(msgspec.Struct, frozen=True):
    """The program, with `{endpoint}`, `{socket}` and `{node}` in its arguments replaced."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


def command_of(
    words: Sequence[str], socket: Path, node: str, environment: Mapping[str, str]
) -> Command:
    """What is run. CSI_ENDPOINT and NODE_ID are in its environment, unless NODE_ID was before."""
    endpoint = f"unix://{socket}"
    places = {"{endpoint}": endpoint, "{socket}": str(socket), "{node}": node}
    argv = []
    for word in words:
        for place, value in places.items():
            word = word.replace(place, value)  # noqa: PLW2901  one after the other
        argv.append(word)
    return Command(tuple(argv), {"NODE_ID": node, **environment, "CSI_ENDPOINT": endpoint})


class DriverProcess:
    """`run` runs it until cancelled; after that the program has ended."""

    def __init__(self, command: Command, socket: Path, clock: Clock, say: Say) -> None:
        self._command = command
        self._socket = socket
        self._clock = clock
        self._say = say
        self.has_answered = False  # set by who has heard of it

    async def run(self) -> None:
        """Raises: UsageError when it cannot be started, DriverEnded when it never answered."""
        failures = 0
        while True:
            await in_thread(self._clear)
            process = await self._start()
            began = self._clock.monotonic()
            try:
                code = await process.wait()
            finally:
                await asyncio.shield(self._stop(process))
            how = ended_how(code)
            if not self.has_answered:
                raise DriverEnded(f"{self._command.argv[0]} {how} before its socket answered")
            is_steady = self._clock.monotonic() - began >= STEADY_SECONDS
            failures = 1 if is_steady else failures + 1
            pause = AGAIN.delay(failures)
            self._say(f"the driver {how}; it is started again in {pause:g} s")
            await self._clock.sleep(pause)

    def _clear(self) -> None:
        """Drivers do not listen where a socket is already."""
        self._socket.unlink(missing_ok=True)

    async def _start(self) -> Process:
        argv = self._command.argv
        try:
            # A session of its own: Ctrl-C is for us, who stop it when all else is undone.
            return await asyncio.create_subprocess_exec(
                *argv, env=self._command.environment, start_new_session=True
            )
        except OSError as error:
            raise UsageError(f"cannot start {argv[0]}: {error.strerror}") from error

    async def _stop(self, process: Process) -> None:
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await process.wait()
        _signal(process.pid, signal.SIGKILL)  # and what it has left behind
        await process.wait()


def ended_how(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _signal(pid: int, number: signal.Signals) -> None:
    """To the whole group; it may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
