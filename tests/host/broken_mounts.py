"""Mounts that do not answer as they should: a FUSE server of a few lines.

It stands for a network server that is gone or has lost its files.
"""

import errno
import os
import struct
import threading
from pathlib import Path

from mooring.host import mount_calls
from mooring.host.mount_options import MountFlag

_IN = struct.Struct("IIQQIIII")  # length, opcode, unique, node, uid, gid, pid, padding
_OUT = struct.Struct("IiQ")  # length, error, unique
_INIT = 26
_WITHOUT_ANSWER = (2, 42)  # FORGET, BATCH_FORGET
_INIT_ANSWER = struct.Struct("IIII HH II 36x")  # version 7.31, and nothing special
_ROOM = 1 << 17


def mount_of_the_dead(target: Path) -> None:
    """A mount whose server crashed: everything there answers with ENOTCONN."""
    os.close(_mount(target))


class StaleMount:
    """A mount whose every file answers with ESTALE. Ended by its unmount, then `end`."""

    def __init__(self, target: Path) -> None:
        self._device = _mount(target)
        self._server = threading.Thread(target=self._serve, daemon=True)
        self._server.start()

    def end(self) -> None:
        self._server.join(10)
        assert not self._server.is_alive(), "still mounted"
        os.close(self._device)

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self._device, _ROOM)
            except OSError:
                return  # ENODEV: unmounted
            _, opcode, unique, *_ = _IN.unpack_from(request)
            if opcode == _INIT:
                body = _INIT_ANSWER.pack(7, 31, 0, 0, 0, 0, 4096, 0)
                os.write(self._device, _OUT.pack(_OUT.size + len(body), 0, unique) + body)
            elif opcode not in _WITHOUT_ANSWER:
                os.write(self._device, _OUT.pack(_OUT.size, -errno.ESTALE, unique))


def _mount(target: Path) -> int:
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    mount_calls.mount("broken", target, "fuse", MountFlag.NODEV, options)
    return device
