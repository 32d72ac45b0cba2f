"""Directories of volumes: made, and marked as ready. All of it blocks."""

import os
import stat
from pathlib import Path

from mooring.errors import HostError
from mooring.host import tree
from mooring.host.refusal import refusals
from mooring.plugins.layout import DIRECTORY_MODE

_READY = "ready"


def make_directories(path: Path, mode: int = DIRECTORY_MODE) -> None:
    """`path` and what is missing above it, all with `mode` less the umask."""
    with refusals(f"mkdir {path}"):
        _make(path, mode)


def is_ready(marks: Path) -> bool:
    """Whether the volume that keeps its marks in this directory was set up to the end."""
    return (marks / _READY).is_file()


def mark_ready(marks: Path) -> None:
    make_directories(marks)
    with refusals(f"create {marks / _READY}"):
        (marks / _READY).touch()


def remove_marks(marks: Path) -> None:
    """Nothing there is a success."""
    if not os.path.lexists(marks):
        return
    try:
        if not stat.S_ISDIR(os.lstat(marks).st_mode):
            raise HostError("not a directory")
        tree.remove_path(marks)
    except HostError as error:
        raise HostError(f"failed to remove ready dir [{marks}]: {error}") from error


def _make(path: Path, mode: int) -> None:
    try:
        path.mkdir(mode)
    except FileExistsError:
        if not path.is_dir():
            raise
    except FileNotFoundError:
        _make(path.parent, mode)
        path.mkdir(mode, exist_ok=True)
