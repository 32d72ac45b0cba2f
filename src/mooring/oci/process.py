"""Programs that run beside the event loop: started, waited for by a pidfd, read when ready.

Unlike `host.command`, which runs a program to its end in a thread, a program here costs no thread
while it runs: there may be one per container and per exec.
"""

import asyncio
import os
import select
import signal
import subprocess
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mooring.errors import CommandFailed
from mooring.host.blocking import in_thread
from mooring.host.refusal import refusals

SIGNAL_BASE = 128  # what shells add to the number of the signal that ended a program
_CHUNK = 65536
_MOMENT = 100  # milliseconds
_SWEEPS = 20  # processes started by those being killed are killed in the next sweep

R = TypeVar("R")


class Child:
    """A program that was started here. The caller that starts it waits for it, or closes it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process
        self._pidfd = os.pidfd_open(process.pid)
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(self._pidfd, self._on_end)

    @property
    def has_ended(self) -> bool:
        return self._ended.done()

    async def wait(self) -> int:
        """The exit code: 128 + n for signal n."""
        return await asyncio.shield(self._ended)

    def on_end(self, handler: Callable[[], None]) -> None:
        self._ended.add_done_callback(lambda _: handler())

    def signal(self, number: signal.Signals) -> None:
        """One that has ended does not mind."""
        if not self.has_ended:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def _on_end(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        code = self._process.wait()
        if not self._ended.done():
            self._ended.set_result(code if code >= 0 else SIGNAL_BASE - code)


class Streams:
    """Which descriptors a program gets; -1 is /dev/null. They stay the caller's to close."""

    def __init__(self, stdin: int = -1, stdout: int = -1, stderr: int = -1) -> None:
        self.stdin = stdin if stdin >= 0 else subprocess.DEVNULL
        self.stdout = stdout if stdout >= 0 else subprocess.DEVNULL
        self.stderr = stderr if stderr >= 0 else subprocess.DEVNULL


NO_STREAMS = Streams()


def start(
    argv: Sequence[str],
    *,
    streams: Streams = NO_STREAMS,
    kept: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    directory: Path = Path("/"),
) -> Child:
    """Start a program in a session of its own. `kept` descriptors keep their numbers in it.

    On the loop's thread: a spawn holds the interpreter lock anyway, and so no caller can be
    cancelled between the program's start and the return of its process.
    Raises: HostError.
    """
    with refusals(f"run {argv[0]}"):
        process = subprocess.Popen(  # noqa: S603  a list of words, no shell
            argv,
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            pass_fds=kept,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
    return Child(process)


async def check(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> bytes:
    """Run a program to its end. Cancelled: the program is killed first.

    Returns: what it printed. Raises: CommandFailed, whose `output` is what it complained of.
    """
    out, out_end = os.pipe2(os.O_CLOEXEC)
    complaints, complaints_end = os.pipe2(os.O_CLOEXEC)
    try:
        try:
            streams = Streams(stdout=out_end, stderr=complaints_end)
            child = start(argv, streams=streams, environment=environment)
        finally:
            os.close(out_end)
            os.close(complaints_end)
        try:
            said = await _collect(child, out, complaints)
        except asyncio.CancelledError:
            child.signal(signal.SIGKILL)
            await child.wait()
            raise
    finally:
        os.close(out)
        os.close(complaints)
    code = await child.wait()
    if code != 0:
        text = said[complaints].decode(errors="replace")
        raise CommandFailed(
            f"{argv[0]} failed: exit status {code}: {text.strip()}",
            argv=argv,
            code=code,
            output=text,
        )
    return bytes(said[out])


async def _collect(child: Child, *fds: int) -> dict[int, bytearray]:
    """What a program prints until its own end: what it leaves behind may hold its streams."""
    said = {fd: bytearray() for fd in fds}
    open_ones = list(fds)
    readiness = Readiness()
    child.on_end(readiness.wake)
    for fd in fds:
        os.set_blocking(fd, False)
    while open_ones:
        has_ended = child.has_ended
        ready = open_ones if has_ended else await readiness.readable(*open_ones)
        for fd in tuple(ready):
            piece = _read_now(fd)
            said[fd] += piece or b""
            if piece == b"" or (has_ended and piece is None):
                open_ones.remove(fd)
    return said


def _read_now(fd: int) -> bytes | None:
    """None: nothing yet."""
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None


async def readable(*fds: int) -> tuple[int, ...]:
    """Wait until some of these can be read without waiting, or have come to their end."""
    return await Readiness().readable(*fds)


class Readiness:
    """Waits for descriptors that may be closed meanwhile: `stop` first, then close them."""

    def __init__(self) -> None:
        self._waits: set[_Wait] = set()
        self._is_stopped = False

    async def readable(self, *fds: int) -> tuple[int, ...]:
        """Those that can be read, or have come to their end; none of them after `stop`."""
        return await self._await(_Wait(readers=fds))

    async def writable(self, fd: int) -> None:
        """Wait until `fd` is writable, its reader has closed it, or `wake` was called."""
        await self._await(_Wait(writers=(fd,)))

    def wake(self) -> None:
        """Wake the waiting tasks, which check their condition again."""
        for wait in self._waits:
            wait.wake()

    def stop(self) -> None:
        """Stop waiting; the waiting tasks are woken."""
        self._is_stopped = True
        for wait in self._waits:
            wait.leave()
            wait.wake()

    async def _await(self, wait: "_Wait") -> tuple[int, ...]:
        if self._is_stopped:
            return ()
        self._waits.add(wait)
        wait.enter()
        try:
            await wait.moment
        finally:
            self._waits.discard(wait)
            wait.leave()
        return () if self._is_stopped else tuple(wait.ready)


class _Wait:
    """One wait, for one or several descriptors."""

    def __init__(self, readers: Sequence[int] = (), writers: Sequence[int] = ()) -> None:
        self._loop = asyncio.get_running_loop()
        self.moment: asyncio.Future[None] = self._loop.create_future()
        self.ready: dict[int, None] = {}
        self._readers = readers
        self._writers = writers

    def enter(self) -> None:
        for fd in self._readers:
            self._loop.add_reader(fd, self._note, fd)
        for fd in self._writers:
            self._loop.add_writer(fd, self._note, fd)

    def leave(self) -> None:
        """Repeated: nothing; the numbers may be those of others by then."""
        for fd in self._readers:
            self._loop.remove_reader(fd)
        for fd in self._writers:
            self._loop.remove_writer(fd)
        self._readers = self._writers = ()

    def wake(self) -> None:
        if not self.moment.done():
            self.moment.set_result(None)

    def _note(self, fd: int) -> None:
        self.ready[fd] = None
        self.wake()


async def finished(work: Coroutine[None, None, R]) -> R:
    """What `work` returns or raises; a cancelled caller is cancelled only after its end."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # retrieved: a cancelled caller does not need it
        raise


def parent_of(pid: int) -> int:
    """0 when there is no such process, or only its exit code is left of it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    state, parent, *_ = status.rpartition(")")[2].split()
    return 0 if state in ("Z", "X") else int(parent)


async def kill_with_children(child: Child) -> None:
    """Kill a program and what it has started."""
    child.signal(signal.SIGSTOP)  # so that it starts nothing more meanwhile
    await in_thread(kill_children, child.pid)
    child.signal(signal.SIGKILL)
    await child.wait()


def kill_children(pid: int) -> None:
    """Kill the children of a process, and the groups that they lead. It blocks."""
    for _ in range(_SWEEPS):
        children = [child for child in _all() if parent_of(child) == pid]
        if not children:
            return
        for child in children:
            with suppress(ProcessLookupError, PermissionError):
                if os.getpgid(child) == child:
                    os.killpg(child, signal.SIGKILL)
                os.kill(child, signal.SIGKILL)
        for child in children:
            wait_a_moment(child)


def wait_a_moment(pid: int) -> None:
    """A killed process needs a moment to end. It blocks."""
    try:
        opened = os.pidfd_open(pid)
    except OSError:
        return
    try:
        poll = select.poll()
        poll.register(opened, select.POLLIN)
        poll.poll(_MOMENT)
    finally:
        os.close(opened)


def _all() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
