"""Ending an operation halfway: at a mount call, at a change of a file, or by cancelling."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import HostError
from mooring.host.contract import MountOps
from mooring.host.mountinfo import MountTable

CHANGES = {
    "os.chmod",
    "os.chown",
    "os.link",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.truncate",
}
WRITES = os.O_CREAT | os.O_WRONLY | os.O_RDWR


class Crash(Exception):
    """The process is killed here; nothing that comes after it happens."""


class CutMounts:
    """A `MountOps` that does what another does, except for one call. Changes count from 1."""

    def __init__(self, inner: MountOps) -> None:
        self._inner = inner
        self._count = 0
        self._fails: int | None = None
        self._crashes: int | None = None

    def fail_at(self, number: int | None) -> None:
        """Refuse the change with this number from now on; None refuses none."""
        self._count, self._fails, self._crashes = 0, number, None

    def crash_after(self, number: int | None) -> None:
        self._count, self._fails, self._crashes = 0, None, number

    def mount(
        self,
        source: str,
        target: Path,
        fs_type: str,
        options: Sequence[str] = (),
        *,
        sensitive: Sequence[str] = (),
    ) -> None:
        with self._change():
            self._inner.mount(source, target, fs_type, options, sensitive=sensitive)

    def bind(self, source: Path, target: Path, options: Sequence[str] = ()) -> None:
        with self._change():
            self._inner.bind(source, target, options)

    def bind_mapped(
        self, source: Path, target: Path, user_namespace: int, *, recursive: bool
    ) -> None:
        with self._change():
            self._inner.bind_mapped(source, target, user_namespace, recursive=recursive)

    def unmount(self, target: Path) -> None:
        with self._change():
            self._inner.unmount(target)

    def detach(self, target: Path) -> None:
        with self._change():
            self._inner.detach(target)

    def unmount_by_force(self, target: Path, after_seconds: float) -> None:
        with self._change():
            self._inner.unmount_by_force(target, after_seconds)

    def is_mount_point(self, path: Path) -> bool:
        return self._inner.is_mount_point(path)

    def table(self) -> MountTable:
        return self._inner.table()

    def make_shared(self, path: Path) -> None:
        with self._change():
            self._inner.make_shared(path)

    def make_private(self, path: Path) -> None:
        with self._change():
            self._inner.make_private(path)

    def make_unbindable(self, path: Path) -> None:
        with self._change():
            self._inner.make_unbindable(path)

    @contextmanager
    def _change(self) -> Iterator[None]:
        self._count += 1
        if self._count == self._fails:
            raise HostError("mount failed: refused by the test")
        yield
        if self._count == self._crashes:
            raise Crash


class _FileCuts:
    """Crashes before the n-th change of a file, in whichever thread it is made."""

    def __init__(self) -> None:
        self.left = 0  # changes to go, this one included; 0: not armed
        self._is_watching = False

    @contextmanager
    def crash_before(self, number: int) -> Iterator[None]:
        if not self._is_watching:
            sys.addaudithook(self._heard)  # never to be taken away, so it is one for all tests
            self._is_watching = True
        self.left = number
        try:
            yield
        finally:
            self.left = 0

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.left and _is_change(event, arguments):
            self.left -= 1
            if self.left == 0:
                raise Crash


def _is_change(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        flags = arguments[2]
        return isinstance(flags, int) and bool(flags & WRITES)
    return event in CHANGES


file_cuts = _FileCuts()


async def cancel_at_call(
    number: int, act: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Run `act`, and cancel it during its n-th call of the system; False when it makes fewer."""
    reached = asyncio.Event()
    calls = 0
    to_thread = asyncio.to_thread

    async def counting(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            reached.set()
        return await to_thread(call, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "to_thread", counting)
        acting = asyncio.ensure_future(act())
        waiting = asyncio.ensure_future(reached.wait())
        await asyncio.wait([acting, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not reached.is_set():
            await acting
            return False
        acting.cancel()
        with suppress(asyncio.CancelledError):
            await acting
        return True
