"""User namespaces: ids 0, 1, 2... inside are unused high ids of the host outside."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mooring.errors import HostError
from mooring.host.command import find_program
from mooring.host.refusal import refusals
from mooring.processes import STARTING

LENGTH: Final = 65536  # ids of one namespace: 0 to 65535, as many as images use
_READY = b"."


@contextmanager
def user_namespace(first: int) -> Iterator[int]:
    """A descriptor of a user namespace whose id 0 is `first` on the host; blocks for a moment.

    The kernel needs a process to create a namespace: one is started, and ends with the context at
    the latest. Mounts that were mapped with the descriptor stay mapped.
    Raises: HostError.
    """
    program = find_program("unshare")
    if program is None:
        raise HostError("there is no unshare(1), which makes user namespaces: install util-linux")
    with refusals("make a user namespace"), STARTING:
        # Once `cat` echoes a line it runs, and is in the namespace.
        process = subprocess.Popen(  # noqa: S603  fixed arguments
            (str(program), "--user", "cat"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    try:
        opened = _map(process, first)
    finally:
        process.kill()
        process.communicate()
    try:
        yield opened
    finally:
        os.close(opened)


def _map(process: subprocess.Popen[bytes], first: int) -> int:
    assert process.stdin is not None  # noqa: S101  for the type: a pipe was asked for
    assert process.stdout is not None  # noqa: S101  for the type: a pipe was asked for
    with refusals("make a user namespace"):
        process.stdin.write(_READY)
        process.stdin.flush()
        if process.stdout.read(1) != _READY:
            raise HostError("this kernel makes no user namespace: see user.max_user_namespaces")
        of_process = Path(f"/proc/{process.pid}")
        for file in ("uid_map", "gid_map"):
            (of_process / file).write_text(f"0 {first} {LENGTH}")
        return os.open(of_process / "ns" / "user", os.O_RDONLY | os.O_CLOEXEC)
