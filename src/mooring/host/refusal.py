"""Refused system calls as `HostError`s."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mooring.errors import KernelRefused


def reason(errno: int) -> str:
    """The text of an errno, in lower case, for use within a sentence."""
    text = os.strerror(errno)
    return text[:1].lower() + text[1:]


@contextmanager
def refusals(doing: str) -> Iterator[None]:
    """Turn an OSError inside the block into `KernelRefused`: `<doing>: <reason>`."""
    try:
        yield
    except OSError as error:
        errno = error.errno or 0
        raise KernelRefused(f"{doing}: {reason(errno)}", errno) from error
