"""The module `os` with somebody standing beside it, at every system call."""

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

CALLS = (
    *("open", "mkdir", "symlink", "rename", "unlink", "rmdir", "chmod", "chown", "write"),
    *("fchmod", "fchown", "readlink", "listdir", "scandir", "stat", "fstat", "lstat", "read"),
)


class SystemCalls:
    """Stands in for `os` in a module; `strike` is called with the number of each call.

    It may do something before the call, raise in its place, or return what to do after it.
    """

    def __init__(self, strike: Callable[[int], Callable[[], None] | None]) -> None:
        self.count = 0
        self._strike = strike

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        return self._watched(found) if name in CALLS else found

    def install(self, patch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
        for module in modules:
            patch.setattr(module, "os", self)

    def _watched(self, call: Callable[..., object]) -> Callable[..., object]:
        def watched(*args: object, **kwargs: object) -> object:
            self.count += 1
            afterwards = self._strike(self.count)
            result = call(*args, **kwargs)
            # Who dies with a new descriptor in hand would leak it here, which a real death does
            # not: for those calls, what comes afterwards comes before the next call.
            if afterwards is not None and call not in (os.open, os.scandir):
                afterwards()
            return result

        return watched
