"""A kubectl in a terminal, as a person has it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.clients.kubectl import SECONDS, Kubectl


class Terminal:
    """What is typed, and what is seen."""

    def __init__(self, master: int, process: "subprocess.Popen[bytes]") -> None:
        self._master = master
        self._process = process
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> None:
        """Returns when it was seen since the last time."""
        while text not in self.seen:
            readable, _, _ = select.select([self._master], [], [], SECONDS)
            piece = b""
            with suppress(OSError):  # the other end is closed
                piece = os.read(self._master, 65536) if readable else b""
            if not piece:
                pytest.fail(f"no {text!r} was seen, but {self.seen!r}")
            self.seen += piece.decode(errors="replace")
        self.seen = self.seen.partition(text)[2]

    def resize(self, rows: int, columns: int) -> None:
        _set_size(self._master, rows, columns)
        self._process.send_signal(signal.SIGWINCH)

    def ends(self) -> int:
        """Its exit code, when it ends by itself."""
        return self._process.wait(SECONDS)


@contextmanager
def in_terminal(kubectl: Kubectl, *arguments: str) -> Iterator[Terminal]:
    """It runs beside the test, and is gone afterwards."""
    master, slave = pty.openpty()
    _set_size(master, 24, 80)
    try:
        with kubectl.started(*arguments, stdin=slave, stdout=slave, stderr=slave) as process:
            os.close(slave)
            yield Terminal(master, process)
    finally:
        os.close(master)


def _set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
