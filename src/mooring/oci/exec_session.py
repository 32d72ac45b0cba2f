"""A further process in a container: `runc exec` as a child, with pipes between.

Output is read only when the client reads: a slow client slows the process down.
"""

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from mooring.host.blocking import in_thread
from mooring.oci import process
from mooring.oci.contract import ExecOptions, Size
from mooring.oci.runc import Runc, exit_code_for, explain

STDOUT, STDERR = 1, 2
_CHUNK = 65536


class ExecSession:
    """A `Session` of a process that was started for it, and is killed with it."""

    def __init__(self, child: process.Child, ends: "_Ends", notes: "_Notes") -> None:
        self._child = child
        self._ends = ends
        self._notes = notes
        self._readiness = process.Readiness()
        self._is_closed = False

    async def output(self) -> AsyncIterator[tuple[int, bytes]]:
        while self._ends.outputs and not self._is_closed:
            for fd in await self._readiness.readable(*self._ends.outputs):
                stream = self._ends.outputs.get(fd)
                if stream is None:  # closed since
                    return
                piece = os.read(fd, _CHUNK)
                if piece:
                    yield stream, piece
                else:
                    self._ends.drop_output(fd)

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and self._ends.input >= 0 and not self._child.has_ended:
            try:
                view = view[os.write(self._ends.input, view[:_CHUNK]) :]
            except BlockingIOError:
                await self._readiness.writable(self._ends.input)
            except OSError:  # it reads no more
                return

    async def end_input(self) -> None:
        self._readiness.wake()  # a writer that still waits finds that it is over
        self._ends.end_input()

    def resize(self, size: Size) -> None:
        """There is no terminal."""

    async def wait(self) -> int:
        code = await self._child.wait()
        return await in_thread(self._notes.exit_code, code)

    async def close(self) -> None:
        """Kill the process, then whatever of the runtime is left. Repeated: nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._readiness.stop()
        if not self._child.has_ended:
            await process.kill_with_children(self._child)
        self._ends.close()
        await in_thread(self._notes.forget)


class _Ends:
    """Our ends of the pipes."""

    def __init__(self, outputs: dict[int, int], input: int) -> None:
        self.outputs = outputs  # descriptor -> stream
        self.input = input  # -1: none, or ended
        for fd in {*outputs, input} - {-1}:
            os.set_blocking(fd, False)

    def end_input(self) -> None:
        if self.input >= 0:
            os.close(self.input)
            self.input = -1

    def drop_output(self, fd: int) -> None:
        del self.outputs[fd]
        os.close(fd)

    def close(self) -> None:
        for fd in {*self.outputs, self.input} - {-1}:
            os.close(fd)
        self.outputs.clear()
        self.input = -1


class _Notes:
    """What the runtime writes down: the pid of the process, and its own complaints."""

    def __init__(self, base: Path) -> None:
        self.pid_file = base.with_suffix(".pid")
        self.log = base.with_suffix(".log")
        self._complaint = ""

    def exit_code(self, code: int) -> int:
        """That of the process; or, when none was started, what a shell would say."""
        if code == 0:
            return 0
        if not self._complaint and not self.pid_file.exists():
            with suppress(OSError):
                written = self.log.read_text(errors="replace").strip()
                self._complaint = explain(written) if written else ""
        return exit_code_for(self._complaint) if self._complaint else code

    def forget(self) -> None:
        self.exit_code(-1)  # the complaint is kept for a later `wait`
        for path in (self.pid_file, self.log):
            path.unlink(missing_ok=True)


def start(runc: Runc, id: str, wish: ExecOptions, base: Path) -> ExecSession:
    """`base` is where the session's files are, without their endings. Raises: HostError."""
    notes = _Notes(base)
    flags = ("--pid-file", str(notes.pid_file))
    argv = runc.argv("exec", *flags, id, *wish.args, log=notes.log)
    ends, theirs = _pipes(has_stdin=wish.has_stdin)
    try:
        child = process.start(argv, streams=theirs)
    except BaseException:
        ends.close()
        raise
    finally:
        for fd in {theirs.stdin, theirs.stdout, theirs.stderr}:
            if fd >= 0:
                os.close(fd)
    return ExecSession(child, ends, notes)


def _pipes(*, has_stdin: bool) -> tuple[_Ends, process.Streams]:
    out, out_end = os.pipe2(os.O_CLOEXEC)
    complaints, complaints_end = os.pipe2(os.O_CLOEXEC)
    in_end, into = os.pipe2(os.O_CLOEXEC) if has_stdin else (-1, -1)
    ends = _Ends({out: STDOUT, complaints: STDERR}, into)
    return ends, process.Streams(in_end, out_end, complaints_end)
