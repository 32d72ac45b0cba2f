"""Which paths a payload may have: keys of config maps and secrets, as users write them."""

import posixpath
from collections.abc import Iterable, Mapping
from typing import TypeVar

from mooring.errors import HostError

T = TypeVar("T")

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255


def clean_paths(payload: Mapping[str, T]) -> dict[str, T]:
    """The payload with its paths cleaned (`a//b/./c` is `a/b/c`), safe to create in a directory.

    Raises: HostError for the first path that would leave the directory, begins with `..`, or
    cannot be a file name.
    """
    cleaned = {}
    for path, content in payload.items():
        _check(path)
        clean = posixpath.normpath(path)
        _check_reserved(clean)
        cleaned[clean] = content
    for path in parents(cleaned):
        if path in cleaned:
            raise HostError(f"invalid path: is a file and a directory at once: {path}")
    return cleaned


def parents(paths: Iterable[str]) -> set[str]:
    """The directories that these paths need."""
    found: set[str] = set()
    for path in paths:
        parent = posixpath.dirname(path)
        while parent and parent not in found:
            found.add(parent)
            parent = posixpath.dirname(parent)
    return found


def _check(path: str) -> None:
    if not path:
        raise HostError('invalid path: must not be empty: ""')
    if path.startswith("/"):
        raise HostError(f"invalid path: must be relative path: {path}")
    if _bytes(path) > MAX_PATH_BYTES:
        text = f"must be less than or equal to {MAX_PATH_BYTES} characters"
        raise HostError(f"invalid path: {text}")
    if "\0" in path:
        raise HostError("invalid path: must not contain a NUL byte")
    names = path.split("/")
    for name in names:
        if name == "..":
            raise HostError(f"invalid path: must not contain '..': {path}")
        if _bytes(name) > MAX_NAME_BYTES:
            text = f"filenames must be less than or equal to {MAX_NAME_BYTES} characters"
            raise HostError(f"invalid path: {text}")
    _check_reserved(path)


def _check_reserved(path: str) -> None:
    """The check after cleaning: `./..data` becomes `..data`, and `./` is no file."""
    if path.startswith(".."):
        raise HostError(f"invalid path: must not start with '..': {path}")
    if path == ".":
        raise HostError(f"invalid path: must name a file: {path}")


def _bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise HostError("invalid path: must be valid UTF-8") from None
