"""A file system that hangs: a FUSE daemon that answers INIT, and after that nobody.

Whoever asks it anything waits until it is let go: when the daemon's descriptor is closed, by
`let_go` or because the test's process died, the kernel aborts the connection, and every call that
waits fails. So a test always ends, and nothing is left of it.

Questions are not even read, so that a process that waits can be killed. With `takes_questions` they
are, and left at that: then the kernel lets nothing end the waiting thread, as with a broken disk.
"""

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

_IN_HEADER = struct.Struct("<IIQQIIIHH")  # len opcode unique nodeid uid gid pid extlen padding
_OUT_HEADER = struct.Struct("<IiQ")
_INIT_OUT = struct.Struct("<IIIIHHIIHHI28x")
_ATTR_OUT = struct.Struct("<QII" + "QQQQQQIIIIIIIIII")
_INIT, _LOOKUP, _GETATTR, _SETATTR, _STATFS, _ACCESS = 26, 1, 3, 4, 17, 34
_OPENDIR, _READDIR, _RELEASEDIR, _READDIRPLUS = 27, 28, 29, 44
_UNANSWERED = (2, 36, 42)  # FORGET, INTERRUPT, BATCH_FORGET
_ROOT = _ATTR_OUT.pack(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
_ANSWERS: dict[int, tuple[bytes, int]] = {
    _GETATTR: (_ROOT, 0),
    _SETATTR: (_ROOT, 0),
    _STATFS: (struct.pack("<QQQQQIIII24x", 8, 4, 4, 8, 4, 4096, 255, 4096, 0), 0),
    _OPENDIR: (bytes(16), 0),
    _READDIR: (b"", 0),
    _READDIRPLUS: (b"", 0),
    _RELEASEDIR: (b"", 0),
    _ACCESS: (b"", 0),
    _LOOKUP: (b"", errno.ENOENT),
}
_BUFFER = 1 << 17
_NODEV_NOSUID = 4 | 2
_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


class HangingDisk:
    """`heal` and `hang` are for a disk that is well at times; what waits is answered then."""

    def __init__(self, at: Path, *, takes_questions: bool = False) -> None:
        self.at = at
        self._takes_questions = takes_questions
        self.asked = threading.Event()  # something has been asked that will not be answered
        self._is_well = threading.Event()
        self._left: int | None = None  # how many questions it answers before it hangs; None: all
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self._stop_read, self._stop_write = os.pipe()
        self._daemon = threading.Thread(target=self._serve, daemon=True)

    def mount(self) -> Self:
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        # INIT is sent by the kernel in the background, so mounting does not wait for us.
        if _libc.mount(b"hanging", bytes(self.at), b"fuse", _NODEV_NOSUID, options):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._daemon.start()
        return self

    def heal(self) -> None:
        """From now on it answers, as an empty directory does."""
        self._left = None
        self._is_well.set()

    def hang(self, after: int = 0) -> None:
        """It answers so many questions more."""
        self._left = after
        if not after:
            self._is_well.clear()

    def let_go(self) -> None:
        """Every call that waits fails now. The mount stays, broken."""
        if self._fd >= 0:
            os.write(self._stop_write, b"x")
            self._is_well.set()
            self._daemon.join()
            for fd in (self._fd, self._stop_read, self._stop_write):
                os.close(fd)
            self._fd = -1

    def close(self) -> None:
        self.let_go()
        while _libc.umount2(bytes(self.at), _DETACH) == 0:
            pass

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._stop_read, select.POLLIN)
        has_begun = False
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._stop_read in ready:
                return
            if has_begun and not self._is_well.is_set() and not self._takes_questions:
                self.asked.set()
                self._is_well.wait()
                continue
            has_begun = True
            try:
                request = os.read(self._fd, _BUFFER)
            except OSError:  # aborted or unmounted
                return
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        _, opcode, unique, *_ = _IN_HEADER.unpack_from(request)
        if opcode == _INIT:
            major, minor, readahead, _ = struct.unpack_from("<IIII", request, _IN_HEADER.size)
            told = _INIT_OUT.pack(major, min(minor, 31), readahead, 0, 16, 12, 1 << 16, 1, 0, 0, 0)
            self._reply(unique, told)
        elif not self._is_well.is_set():
            self.asked.set()
        elif opcode not in _UNANSWERED:
            self._reply(unique, *_ANSWERS.get(opcode, (b"", errno.ENOSYS)))
            if self._left is not None:
                self.hang(after=max(0, self._left - 1))

    def _reply(self, unique: int, body: bytes, error: int = 0) -> None:
        with suppress(OSError):
            header = _OUT_HEADER.pack(_OUT_HEADER.size + len(body), -error, unique)
            os.write(self._fd, header + body)


@contextmanager
def hanging_disk(
    at: Path, *, well: bool = False, takes_questions: bool = False
) -> Iterator[HangingDisk]:
    """Mounted at `at`, which is made; gone when the block ends, whatever waits for it."""
    at.mkdir(parents=True, exist_ok=True)
    disk = HangingDisk(at, takes_questions=takes_questions)
    if well:
        disk.heal()
    disk.mount()
    try:
        yield disk
    finally:
        disk.close()
