"""Which ranges of a block device are written to, as the kernel's own trace events report them.

The events are those of completed requests: whoever reads the device after the report of a write
reads what it wrote. Each trace has a buffer of its own in the kernel (an instance of tracefs).
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Lock

from mooring.host.mount_calls import open_file_system
from mooring.host.refusal import refusals

SECTOR = 512
BUFFER_KIB = 4096  # for each CPU: some 40,000 writes between two calls of `take`

_PREFIX = "mooring-"  # of instances
_BEGINNING = Lock()  # so that none is cleared away before it is used
_numbers = count()
_EVENT = "events/block/block_rq_complete"
_CHUNK = 1 << 20
_MINOR_BITS = 20  # of a device number inside the kernel
_COMPLETED = re.compile(rb"block_rq_complete: \d+,\d+ (\S+) \([^)]*\) (\d+) \+ (\d+) ")
_LOSSES = re.compile(rb"^(?:overrun|commit overrun|dropped events): (\d+)$", re.MULTILINE)


class WriteTrace:
    """The writes to a device from now on. Made by `write_trace`; not for two threads."""

    def __init__(self, instance: int) -> None:
        self._instance = instance
        self._pipe = _open(instance, "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        self._lost = 0

    def close(self) -> None:
        os.close(self._pipe)

    def take(self) -> list[tuple[int, int]] | None:
        """Begin and end, in bytes, of what was written since the last call, sorted and merged.

        None: it is not known, as events were lost. Raises: HostError.
        """
        with refusals("read the trace of writes"):
            lines = self._read().splitlines()
            lost, self._lost = self._lost, self._count_lost()
        if self._lost != lost:
            return None
        found: list[tuple[int, int]] = []
        for line in lines:
            if b"block_rq_complete" not in line:
                continue
            event = _COMPLETED.search(line)
            if event is None:
                return None
            kind, sector, count = event[1], int(event[2]), int(event[3])
            if not kind.startswith(b"R"):
                found.append((sector * SECTOR, (sector + count) * SECTOR))
        return list(_merged(found))

    def _read(self) -> bytes:
        parts: list[bytes] = []
        with suppress(BlockingIOError):
            while part := os.read(self._pipe, _CHUNK):
                parts.append(part)
        return b"".join(parts)

    def _count_lost(self) -> int:
        """How many events were lost so far, on all CPUs."""
        total = 0
        for cpu in _names(self._instance, "per_cpu"):
            told = _read_file(self._instance, f"per_cpu/{cpu}/stats")
            total += sum(map(int, _LOSSES.findall(told)))
        return total


@contextmanager
def write_trace(device: Path) -> Iterator[WriteTrace]:
    """Follow the writes to a device; others may follow them too.

    Raises: HostError when the kernel cannot, or this process may not.
    """
    with ExitStack() as stack:
        with refusals(f"trace the writes to {device}"):
            number = device.stat().st_rdev
            root = open_file_system("tracefs")
            stack.callback(os.close, root)
            with _BEGINNING:
                trace = _begin(stack, root, device.name, number)
        yield trace


def _begin(stack: ExitStack, root: int, name: str, number: int) -> WriteTrace:
    instances = _open(root, "instances", os.O_RDONLY | os.O_DIRECTORY)
    stack.callback(os.close, instances)
    _clear_away(instances)
    place = f"{_PREFIX}{name}-{os.getpid()}-{next(_numbers)}"
    os.mkdir(place, 0o700, dir_fd=instances)
    stack.callback(_remove, instances, place)
    instance = _open(instances, place, os.O_RDONLY | os.O_DIRECTORY)
    stack.callback(os.close, instance)
    trace = WriteTrace(instance)
    stack.callback(trace.close)
    kernel_number = os.major(number) << _MINOR_BITS | os.minor(number)
    _write_file(instance, "buffer_size_kb", f"{BUFFER_KIB}")
    _write_file(instance, f"{_EVENT}/filter", f"dev == {kernel_number}")
    _write_file(instance, f"{_EVENT}/enable", "1")
    return trace


def _clear_away(instances: int) -> None:
    """Remove what killed processes left; an instance in use cannot be removed."""
    for name in os.listdir(instances):
        if name.startswith(_PREFIX):
            _remove(instances, name)


def _remove(instances: int, name: str) -> None:
    with suppress(OSError):
        os.rmdir(name, dir_fd=instances)


def _merged(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    begin = end = 0
    for start, stop in sorted(ranges):
        if start > end:
            if end > begin:
                yield begin, end
            begin = start
        end = max(end, stop)
    if end > begin:
        yield begin, end


def _open(directory: int, name: str, how: int) -> int:
    return os.open(name, how | os.O_CLOEXEC, dir_fd=directory)


def _names(directory: int, name: str) -> list[str]:
    found = _open(directory, name, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return os.listdir(found)
    finally:
        os.close(found)


def _read_file(directory: int, name: str) -> bytes:
    file = _open(directory, name, os.O_RDONLY)
    try:
        return os.read(file, _CHUNK)
    finally:
        os.close(file)


def _write_file(directory: int, name: str, text: str) -> None:
    file = _open(directory, name, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
