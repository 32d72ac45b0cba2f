"""Running a function that may read only files that every user may read.

In Linux each thread has credentials of its own, and the kernel checks those of the thread. A mount
keeps the credentials of its mounter: an overlay checks every access against them.
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
# Capabilities that let a process read files which its ids may not read.
_READING = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
# setgroups by its number: the C library's function changes all threads at once.
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
    """Run `work` in a thread that owns no file and is in no group; return or raise what it does.

    Other capabilities, such as mounting, stay. The calling thread waits, and keeps its rights.
    Raises: HostError when the rights cannot be dropped.
    """

    def run() -> T:
        _drop_privileges()
        return work()

    with ThreadPoolExecutor(1, "as-nobody") as alone:  # a thread for this call only
        return alone.submit(run).result()


def _drop_privileges() -> None:
    number = _SETGROUPS.get(platform.machine())
    if number is None:
        raise HostError(f"files cannot be seen as nobody sees them on {platform.machine()}")
    if _libc.syscall(number, 0, None) != 0:
        why = reason(ctypes.get_errno())
        raise HostError(f"this process may not leave its groups: {why}")
    _libc.setfsgid(ctypes.c_uint(NOBODY))
    _libc.setfsuid(ctypes.c_uint(NOBODY))  # drops the file capabilities too
    _check()


def _check() -> None:
    """setfsuid and setfsgid do not report failure: read the ids back. Raises: HostError."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError as error:
        raise HostError(f"cannot read {STATUS}: {error.strerror}") from error
    told = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    is_nobody = told["Uid"][3] == told["Gid"][3] == str(NOBODY)
    if not is_nobody or told["Groups"] or int(told["CapEff"][0], 16) & _READING:
        raise HostError(f"process {os.getpid()} cannot lay down its rights on files")
