"""Kernels that tell less about mounts than today's, played by refusing what they do not know."""

import errno
import os
from enum import Enum
from typing import NoReturn

import pytest

from mooring.errors import KernelRefused
from mooring.host import mount_calls, no_follow, same_mount


class Kernel(Enum):
    TODAY = "as it is"
    BEFORE_5_6 = "without openat2"
    BEFORE_5_2 = "without openat2, statx of mounts, open_tree"


@pytest.fixture(params=[*Kernel], ids=lambda kernel: kernel.value)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel: Kernel = request.param
    if kernel is not Kernel.TODAY:
        monkeypatch.setattr(no_follow, "open_directory_at_once", _refuse)
    if kernel is Kernel.BEFORE_5_2:
        monkeypatch.setattr(same_mount, "_ask", lambda *_: None)
        monkeypatch.setattr(mount_calls, "open_view", _refuse_view)
    return kernel


def _refuse(directory: int, name: str) -> NoReturn:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)


def _refuse_view(directory: int) -> NoReturn:
    raise KernelRefused("open_tree: function not implemented", errno.ENOSYS)
