"""Running another program: in bounded time, with bounded output, in a process group of its own.

Waiting ends when the program ends, not when its output is closed: a child that it leaves behind
may hold the output open for ever. Needs `pidfd_open`, so Linux 5.3.
"""

import asyncio
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

# A child process has copies of all our descriptors until its exec. Code that must know that no
# copy of a descriptor is open (of a claimed device) takes this lock.
STARTING = threading.Lock()
GIVE_UP_SECONDS = 5.0  # how long to wait for a killed program before it is abandoned
_CHUNK = 65536


class Program(msgspec.Struct, frozen=True):
    """A program to run, and its limits."""

    argv: Sequence[str]
    keep: int  # bytes kept of each stream: the last ones, since errors are printed last
    seconds: float | None = None  # time after which it is killed; None: no limit
    most: int | None = None  # bytes of output after which it is killed; None: no limit
    env: Mapping[str, str] | None = None  # None: the environment of this process
    cwd: Path | None = None
    is_apart: bool = False  # standard error is kept in `complaints`, not mixed into `output`
    may_leave_children: bool = False  # False: its whole process group is killed when it ends
    is_awaited: bool = False  # after a kill, wait for its end without a limit


class Ended(msgspec.Struct, frozen=True):
    """How a program ended. `code` is negative for a signal, None if it survived being killed."""

    code: int | None
    output: bytes
    complaints: bytes = b""
    is_late: bool = False  # it was killed at its time limit
    is_cut: bool = False  # output is missing


class Stop:
    """Lets another thread kill a running program. For one `run`; close it afterwards."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def set(self) -> None:
        os.eventfd_write(self.fd, 1)

    def close(self) -> None:
        os.close(self.fd)


class _Stream:
    """The last bytes read from one pipe."""

    def __init__(self, pipe: IO[bytes], keep: int) -> None:
        self._pipe = pipe
        self._keep = keep
        self.fd = pipe.fileno()
        self.kept = bytearray()
        self.count = 0
        os.set_blocking(self.fd, False)

    @property
    def is_cut(self) -> bool:
        return self.count > self._keep

    def read_some(self) -> int | None:
        """The number of bytes read: 0 when all writers have closed the pipe, None if none now."""
        try:
            chunk = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return None
        self.count += len(chunk)
        self.kept += chunk
        if len(self.kept) > 2 * self._keep:
            del self.kept[: -(self._keep + 1)]  # one byte more than kept, so that `is_cut` is known
        return len(chunk)

    def close(self) -> None:
        self._pipe.close()


def run(program: Program, stop: Stop | None = None) -> Ended:
    """Run the program to its end, whatever its exit code; a kill goes to its process group.

    After: no pipe to it is open, and it has ended. If it survived being killed, `code` is None,
    and it is abandoned. Raises: OSError, ValueError when it cannot start.
    """
    process = _start(program)
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    streams = [_Stream(pipe, program.keep) for pipe in pipes]
    try:
        is_late = _attend(process.pid, streams, program, stop)
    finally:
        code = _end(process, program)
        for stream in streams:
            stream.close()
    output, *complaints = (bytes(stream.kept) for stream in streams)
    is_cut = streams[0].is_cut
    return Ended(code, output, b"".join(complaints), is_late, is_cut)


async def run_async(program: Program) -> Ended:
    """`run` in a new thread. When cancelled, it kills the program first.

    If the program survives being killed, its thread is abandoned.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Ended] = loop.create_future()
    stop = Stop()

    def work() -> None:
        ended: Ended | BaseException
        try:
            ended = run(program, stop)
        except BaseException as error:  # noqa: BLE001  not handled: passed on to the caller
            ended = error
        finally:
            stop.close()
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(_settle, result, ended)

    threading.Thread(target=work, name="program", daemon=True).start()
    spare = 2 * GIVE_UP_SECONDS
    patience = None if program.seconds is None else program.seconds + spare
    try:
        await asyncio.wait({result}, timeout=patience)
    except asyncio.CancelledError:
        if not result.done():
            with suppress(OSError):
                stop.set()
            await asyncio.wait({result}, timeout=spare)
        raise
    if not result.done():
        return Ended(None, b"", is_late=True)
    return result.result()


def _settle(result: "asyncio.Future[Ended]", ended: Ended | BaseException) -> None:
    if result.done():
        return
    if isinstance(ended, BaseException):
        result.set_exception(ended)
        result.exception()  # retrieved, even if the caller was cancelled
    else:
        result.set_result(ended)


def _start(program: Program) -> subprocess.Popen[bytes]:
    with STARTING:
        return subprocess.Popen(  # noqa: S603  a list of arguments, no shell
            program.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if program.is_apart else subprocess.STDOUT,
            start_new_session=True,  # so that its children can be killed with it
            env=program.env,
            cwd=program.cwd,
        )


def _attend(pid: int, streams: list[_Stream], program: Program, stop: Stop | None) -> bool:
    """Read until the program has ended or hits a limit; returns whether that was its time."""
    until = None if program.seconds is None else time.monotonic() + program.seconds
    ended = os.pidfd_open(pid)
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(ended, selectors.EVENT_READ)
            if stop is not None:
                selector.register(stop.fd, selectors.EVENT_READ)
            for stream in streams:
                selector.register(stream.fd, selectors.EVENT_READ)
            while True:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return True
                ready = {key.fd for key, _ in selector.select(left)}
                for stream in streams:
                    if stream.fd in ready and stream.read_some() == 0:
                        selector.unregister(stream.fd)
                if ended in ready:
                    _read_rest(streams, program)
                    return False
                if _is_over(streams[0], program) or (stop is not None and stop.fd in ready):
                    return False
        finally:
            os.close(ended)


def _read_rest(streams: list[_Stream], program: Program) -> None:
    """Read what was written before the program ended; later output of its children is not read."""
    for stream in streams:
        left = max(program.keep, _CHUNK)
        while left > 0 and (count := stream.read_some()):
            left -= count


def _is_over(output: _Stream, program: Program) -> bool:
    return program.most is not None and output.count > program.most


def _end(process: subprocess.Popen[bytes], program: Program) -> int | None:
    """Kill the group, then reap the program: until it is reaped, no other process has its id."""
    ended = os.pidfd_open(process.pid)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(ended, selectors.EVENT_READ)
            has_ended = bool(selector.select(0))
            if not has_ended or not program.may_leave_children:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            patience = None if program.is_awaited else GIVE_UP_SECONDS
            if not has_ended and not selector.select(patience):
                return None
    finally:
        os.close(ended)
    return process.wait()
