"""Processes that are killed in the middle of their work, one after the other.

A server forks a life for every order that it reads from standard input; the life ends by itself or
by SIGKILL before its n-th change of the host, and a line on standard output tells which.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from mooring.host.loop_backing import GET_STATUS64
from mooring.host.mount import Mounts
from tests.unit.plugins.cuts import CHANGES, WRITES

ROOT = Path(__file__).parents[2]
STARTS = {"fcntl.ioctl", "subprocess.Popen"}

OrderT = TypeVar("OrderT", bound=msgspec.Struct)


class Ended(msgspec.Struct, frozen=True):
    was_killed: bool
    changes: int = 0  # of a life that ended by itself
    error: str = ""


class Killer(Generic[OrderT]):
    """Asks for lives that end early."""

    def __init__(self, server: "subprocess.Popen[bytes]") -> None:
        self._server = server

    def live(self, order: OrderT) -> Ended:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(msgspec.json.encode(order) + b"\n")
        self._server.stdin.flush()
        ended = msgspec.json.decode(self._server.stdout.readline(), type=Ended)
        assert not ended.error, ended.error
        return ended


class Steps:
    """Counts changes of the host, in whichever thread they are made, and kills at one of them."""

    def __init__(self, root: str, cut: int, *, is_armed: bool) -> None:
        self.count = 0
        self.is_armed = is_armed
        self._cut = cut
        self._root = root
        sys.addaudithook(self._heard)

    def step(self) -> None:
        if not self.is_armed:
            return
        self.count += 1
        if self.count == self._cut:
            os.kill(os.getpid(), signal.SIGKILL)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "fcntl.ioctl" and arguments[1] == GET_STATUS64:
            return  # a look, and at devices of others too: how many depends on the machine
        if event in CHANGES or event in STARTS or (event == "open" and self._writes(arguments)):
            self.step()

    def _writes(self, arguments: tuple[Any, ...]) -> bool:
        path, flags = arguments[0], arguments[2]
        if not isinstance(flags, int) or not flags & WRITES or isinstance(path, int):
            return False
        return os.fsdecode(path).startswith((self._root, "/dev/"))


class KilledMounts(Mounts):
    """Real mounts that count."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    def mount(
        self,
        source: str,
        target: Path,
        fs_type: str,
        options: Sequence[str] = (),
        *,
        sensitive: Sequence[str] = (),
    ) -> None:
        self._steps.step()
        super().mount(source, target, fs_type, options, sensitive=sensitive)

    def bind(self, source: Path, target: Path, options: Sequence[str] = ()) -> None:
        self._steps.step()
        super().bind(source, target, options)

    def unmount(self, target: Path) -> None:
        self._steps.step()
        super().unmount(target)


@contextmanager
def killing(module: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The server that `module` is when it is run as a program."""
    command = (sys.executable, "-m", module)
    with subprocess.Popen(  # noqa: S603  our own program
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        yield server
        assert server.stdin is not None
        server.stdin.close()


def serve(order_type: type[OrderT], live: Callable[[OrderT], int]) -> None:
    """Be the server; `live` returns how many changes a life took."""
    for line in sys.stdin.buffer:
        ended = _fork(msgspec.json.decode(line, type=order_type), live)
        sys.stdout.buffer.write(msgspec.json.encode(ended) + b"\n")
        sys.stdout.buffer.flush()


def _fork(order: OrderT, live: Callable[[OrderT], int]) -> Ended:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            ended = Ended(was_killed=False, changes=live(order))
        except BaseException as error:  # noqa: BLE001  the parent tells
            ended = Ended(was_killed=False, error=repr(error))
        os.write(writer, msgspec.json.encode(ended))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        answer = told.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Ended(was_killed=os.WTERMSIG(status) == signal.SIGKILL)
    return msgspec.json.decode(answer, type=Ended)
