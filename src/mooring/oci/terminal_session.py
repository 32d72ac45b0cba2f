"""A further process in a container, with a terminal of its own: `runc exec` under a shim.

The shim holds the terminal as it is. The runtime by itself would put a second one in front of it,
and that changes line ends which a full-screen program means as they are.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from mooring.host import tree
from mooring.host.blocking import in_thread
from mooring.model.document import Doc
from mooring.oci import attach_session, conmon, process
from mooring.oci.bundle import TERMINAL
from mooring.oci.contract import ExecOptions, RuntimeRefused, Size
from mooring.oci.runc import Runc, RuntimeProgram, exit_code_for, explain

END_OF_INPUT = b"\x04"  # what a person would type
_CHUNK = 65536


class TerminalSession:
    """A `Session` of a process that was started for it, and is killed with it."""

    def __init__(
        self, child: process.Child, link: attach_session.AttachSession, news: int, place: Path
    ) -> None:
        self._child = child  # the shim
        self._link = link
        self._news = news
        self._place = place
        self._code = -1
        self._complaint = ""
        self._is_closed = False

    async def output(self) -> AsyncIterator[tuple[int, bytes]]:
        async for piece in self._link.output():
            yield piece
        if not self._is_closed:
            await self.wait()
            if self._complaint:
                yield 1, f"exec failed: {self._complaint}\r\n".encode()

    async def write(self, data: bytes) -> None:
        await self._link.write(data)

    async def end_input(self) -> None:
        await self._link.write(END_OF_INPUT)

    def resize(self, size: Size) -> None:
        self._link.resize(size)

    async def wait(self) -> int:
        code = await self._child.wait()
        if self._code < 0:
            self._code = self._read_news(code)
        return self._code

    async def close(self) -> None:
        """Kill the process, then the shim. Repeated: nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._link.close()
        if not self._child.has_ended:
            await process.kill_with_children(self._child)
        await self.wait()
        os.close(self._news)
        await in_thread(tree.remove_path, self._place)

    def _read_news(self, code: int) -> int:
        """First the pid, then the exit code; or -1 and a complaint. None when it was killed."""
        try:
            lines = os.read(self._news, _CHUNK).splitlines()
        except BlockingIOError:
            lines = []
        match [conmon.read_news(line) for line in lines]:
            case [_, conmon.News(data=exit_code)]:
                return exit_code
            case [conmon.News(data=pid, message=message)] if pid < 0:
                self._complaint = explain(message)
                return exit_code_for(self._complaint)
            case _:
                return code


async def start(
    program: RuntimeProgram, runc: Runc, id: str, wish: ExecOptions, bundle: Path, place: Path
) -> TerminalSession:
    """Start a process in the container made from `bundle`; `place` is for the session's files.

    Raises: HostError, RuntimeRefused.
    """
    await in_thread(_write_process, wish, bundle, place)
    words = conmon.exec_argv(program, runc, id, place)
    news, news_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    ready, ready_end = os.pipe2(os.O_CLOEXEC)
    go_end, go = os.pipe2(os.O_CLOEXEC)
    try:
        try:
            pipes = {"SYNC": news_end, "ATTACH": ready_end, "START": go_end}
            child = process.start(
                words,
                kept=tuple(pipes.values()),
                environment=conmon.environment(place, pipes),
                directory=place,
            )
        finally:
            for fd in (news_end, ready_end, go_end):
                os.close(fd)
        try:
            os.write(go, b"1")
            await process.readable(ready)
            link = attach_session.connect(place, child.wait)
            os.write(go, b"1")  # only now, or the first words of the process would be lost
        except BaseException:
            await process.finished(process.kill_with_children(child))
            raise
    except BaseException:
        os.close(news)
        await in_thread(tree.remove_path, place)
        raise
    finally:
        os.close(ready)
        os.close(go)
    return TerminalSession(child, link, news, place)


def _write_process(wish: ExecOptions, bundle: Path, place: Path) -> None:
    """The container's own process, with other words and a terminal."""
    try:
        document: Doc = msgspec.json.decode((bundle / "config.json").read_bytes())
        own: Doc = document["process"]
    except (OSError, msgspec.DecodeError, KeyError) as error:
        raise RuntimeRefused(f"the container's own document cannot be read: {error}") from error
    environment = [word for word in own["env"] if not word.startswith("TERM=")]
    own |= {"args": list(wish.args), "terminal": True, "env": [*environment, TERMINAL]}
    place.mkdir(mode=0o700)
    (place / conmon.PROCESS).write_bytes(msgspec.json.encode(own))
