"""A process whose wall clock is wrong, while that of the machine and all others is right.

Programs in Go ask the kernel's vDSO for the time, not libc, so no library before libc can answer
otherwise. The process has its own copy of that page as soon as it is written to: there the answer
is changed.
"""

import os
import signal
import struct
from collections.abc import Iterator
from pathlib import Path

_FUNCTION = b"__vdso_clock_gettime"
_PROGRAM_HEADERS, _HEADER_SIZE, _HEADER_COUNT = 32, 54, 56  # where an ELF file says it
_DYNAMIC = 2  # type of a program header
_STRINGS, _SYMBOLS = 5, 6  # tags of its entries
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size


def _code(seconds: int) -> bytes:
    """The system call itself; then, of CLOCK_REALTIME alone, so many seconds more."""
    call = bytes.fromhex("b8 e4 00 00 00  0f 05")
    unless_it_is_another = bytes.fromhex("85 ff  75 0d")
    add = bytes.fromhex("48 b9") + struct.pack("<q", seconds) + bytes.fromhex("48 01 0e")
    return call + unless_it_is_another + add + bytes.fromhex("c3")


class NoClock(Exception):
    """The time of a process cannot be set on this machine."""


def set_ahead(pid: int, seconds: int) -> None:
    """Have the process take it for so many seconds later than it is. Raises: NoClock."""
    if os.uname().machine != "x86_64":
        raise NoClock(f"a process has no clock of its own on {os.uname().machine}")
    start, end = _page(pid)
    memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
    os.kill(pid, signal.SIGSTOP)
    try:
        at = start + _find_function(os.pread(memory, end - start, start))
        code = _code(seconds)
        if any(at <= place < at + len(code) for place in _counters(pid)):
            raise NoClock("the process is just asking for the time")
        os.pwrite(memory, code, at)
    finally:
        os.kill(pid, signal.SIGCONT)
        os.close(memory)


def _page(pid: int) -> tuple[int, int]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            first, _, last = line.split()[0].partition("-")
            return int(first, 16), int(last, 16)
    raise NoClock("the process has no vDSO")


def _counters(pid: int) -> Iterator[int]:
    """Where its threads are."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        told = (thread / "syscall").read_text().split()
        if told[0] != "running":
            yield int(told[-1], 16)


def _find_function(image: bytes) -> int:
    strings, symbols = (_dynamic(image, tag) for tag in (_STRINGS, _SYMBOLS))
    for at in range(symbols, strings, _SYMBOL.size):
        name, _, _, _, value, _ = _SYMBOL.unpack_from(image, at)
        if image[strings + name :].startswith(_FUNCTION + b"\0"):
            return int(value)
    raise NoClock("the vDSO has no clock_gettime")


def _dynamic(image: bytes, wanted: int) -> int:
    (headers,) = struct.unpack_from("<Q", image, _PROGRAM_HEADERS)
    (size,) = struct.unpack_from("<H", image, _HEADER_SIZE)
    (count,) = struct.unpack_from("<H", image, _HEADER_COUNT)
    for header in range(headers, headers + size * count, size):
        kind, _, place, _, _, length = struct.unpack_from("<IIQQQQ", image, header)
        if kind != _DYNAMIC:
            continue
        for tag, value in struct.iter_unpack("<QQ", image[place : place + length]):
            if tag == wanted:
                return int(value)
    raise NoClock("the vDSO does not say where its names are")
