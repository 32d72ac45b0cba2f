"""Work that may see of files only what everybody may.

A thread has credentials of its own in Linux, and the kernel asks those of the thread. What it
mounts keeps them: an overlay asks for every file whether its mounter may have it.
"""

import ctypes
import os
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from mooring.errors import HostError
from mooring.host.refusal import reason

T = TypeVar("T")

NOBODY = 0xFFFFFFFE  # the highest id there is: no account has it, and no file
STATUS = Path("/proc/thread-self/status")
# Rights by which a process may read what its ids do not let it.
_READING = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
# setgroups by its number: the C library's function does it in all threads at once.
_SETGROUPS = {
    "x86_64": 116,
    "aarch64": 159,
    "riscv64": 159,
    "loongarch64": 159,
    "ppc64le": 81,
    "s390x": 206,
    "armv7l": 206,
    "i686": 206,
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def as_nobody(work: Callable[[], T]) -> T:
    """What `work` returns or raises, run in a thread that owns no file and is in no group.

    Other rights, like that to mount, stay. The calling thread waits, and is as before.
    Raises: HostError when the rights cannot be laid down.
    """

    def run() -> T:
        _lay_down_rights()
        return work()

    with ThreadPoolExecutor(1, "as-nobody") as alone:  # a thread that ends with what it was for
        return alone.submit(run).result()


def _lay_down_rights() -> None:
    number = _SETGROUPS.get(platform.machine())
    if number is None:
        raise HostError(f"files cannot be seen as nobody sees them on {platform.machine()}")
    if _libc.syscall(number, 0, None) != 0:
        why = reason(ctypes.get_errno())
        raise HostError(f"this process may not leave its groups: {why}")
    _libc.setfsgid(ctypes.c_uint(NOBODY))
    _libc.setfsuid(ctypes.c_uint(NOBODY))  # the kernel takes the rights on files with it
    _check()


def _check() -> None:
    """The two calls above do not say whether they did anything."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError as error:
        raise HostError(f"cannot read {STATUS}: {error.strerror}") from error
    told = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    is_nobody = told["Uid"][3] == told["Gid"][3] == str(NOBODY)
    if not is_nobody or told["Groups"] or int(told["CapEff"][0], 16) & _READING:
        raise HostError(f"process {os.getpid()} cannot lay down its rights on files")
