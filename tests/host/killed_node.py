"""Nodes that are killed in the middle of their work: each a process of its own.

Run as a program it is a server: a line on standard input asks for one life, which ends by itself or
by SIGKILL before its n-th change of the host; a line on standard output tells which.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mooring.host.mount import Mounts
from tests.host.node_life import Life, Scene
from tests.unit.plugins.cuts import CHANGES, WRITES

MARKER = "marker"
STARTS = {"fcntl.ioctl", "subprocess.Popen"}


class Order(msgspec.Struct, frozen=True):
    """Bring the pod its volume; or bring it in peace, and then put it away."""

    scene: Scene
    is_leaving: bool
    cut: int  # before which change to die; 0: none


class Ended(msgspec.Struct, frozen=True):
    was_killed: bool
    changes: int = 0  # of a life that ended by itself
    error: str = ""


class Steps:
    """Counts changes of the host, in whichever thread they are made, and kills at one of them."""

    def __init__(self, order: Order) -> None:
        self.count = 0
        self.is_armed = not order.is_leaving
        self._cut = order.cut
        self._root = order.scene.root
        sys.addaudithook(self._heard)

    def step(self) -> None:
        if not self.is_armed:
            return
        self.count += 1
        if self.count == self._cut:
            os.kill(os.getpid(), signal.SIGKILL)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
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


async def live(order: Order) -> int:
    """How many changes it took."""
    steps = Steps(order)
    life = Life(order.scene, KilledMounts(steps))
    async with life.running(has_pod=True):
        files = await life.bring()
        if order.is_leaving:
            if files is not None and order.scene.kind.is_kept:
                (files / MARKER).write_text("kept")
            steps.is_armed = True
            await life.put_away()
        steps.is_armed = False
    return steps.count


def main() -> None:
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        answer = msgspec.json.encode(_fork(order))
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def _fork(order: Order) -> Ended:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            ended = Ended(was_killed=False, changes=asyncio.run(live(order)))
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


if __name__ == "__main__":
    main()
