"""Directories whose files change all at once: for config maps, secrets and projected volumes.

    ..2026_01_31_09_30_00.123456/   the files of one generation
    ..data -> ..2026_01_31_...      which generation is the current one; replaced by one rename
    name -> ..data/name             one link for the first element of every path

A container that reads through `name` sees one whole generation. A writer killed at any point leaves
the last published generation visible, and the next write removes its leftovers.
"""

import errno
import os
import posixpath
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from mooring import log
from mooring.host import no_follow, tree
from mooring.host.no_follow import descended
from mooring.host.payload_paths import clean_paths, parents
from mooring.host.refusal import refusals

_log = log.get("mooring.host.atomic_dir")

_DATA = "..data"
_DATA_NEXT = "..data_tmp"
_GENERATION = re.compile(r"\.\.[0-9]{4}(_[0-9]{2}){5}\.[0-9]+")
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a FIFO must not block
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class FileContent(msgspec.Struct, frozen=True):
    """A file to write. `data` may be secret: `repr` leaves it out."""

    data: bytes
    mode: int  # exact, whatever the umask
    owner: int | None = None

    def __repr__(self) -> str:
        return f"FileContent(<{len(self.data)} bytes>, mode={self.mode:#o}, owner={self.owner})"


def is_written(directory: Path) -> bool:
    """Whether files were ever published there, and may be in use."""
    return os.path.lexists(directory / _DATA)


def write(
    directory: Path,
    payload: Mapping[str, FileContent],
    own: Callable[[Path], None] | None = None,
) -> bool:
    """Replace the files in `directory` by `payload`, by relative path; return whether they changed.

    Before: `directory` exists, and has no other writer. Names in it that are neither links made
    here nor begin with `..` are left alone.
    After: readers see the new files, never a mix of old and new. `own` was called with `directory`
    before the switch. A difference in mode or owner alone is no change.
    Repeated: changes nothing; finishes what an interrupted call left undone.
    Raises: HostError, and what `own` raises; readers then see either all old or all new files.
    """
    files = clean_paths(payload)
    with refusals(f"write to {directory}"):
        root = os.open(directory, no_follow.DIRECTORY)
        try:
            current = _find_current(root)
            changed = current is None or not _holds(root, current, files)
            if changed:
                _publish(root, files, lambda: own(directory) if own else None)
            names = {path.partition("/")[0] for path in files}
            for name in names.difference(os.listdir(root)):
                os.symlink(f"{_DATA}/{name}", name, dir_fd=root)
            _remove(root, [*_old_generations(root), *_dangling_links(root, names)])
            return changed
        finally:
            os.close(root)


def _find_current(root: int) -> str | None:
    try:
        target = os.readlink(_DATA, dir_fd=root)
    except FileNotFoundError:
        return None
    return target if _GENERATION.fullmatch(target) else None


def _holds(root: int, generation: str, files: Mapping[str, FileContent]) -> bool:
    """Whether a generation has just these files, with this content."""
    try:
        held = no_follow.open_directory(root, generation)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise
    try:
        with closing(tree.walk(held)) as visits:
            entries = sum(1 for _ in visits)
        # All wanted files are there, and there are no more entries than that: it is the same.
        return entries == len(files) + len(parents(files)) and all(
            _is_same(held, path, content.data) for path, content in files.items()
        )
    finally:
        os.close(held)


def _is_same(generation: int, path: str, data: bytes) -> bool:
    try:
        with descended(generation, posixpath.dirname(path), no_follow.open_directory) as parent:
            file = os.open(posixpath.basename(path), _READ, dir_fd=parent)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise
    try:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size != len(data):
            return False
        read = b""
        while len(read) < len(data) and (some := os.read(file, len(data) - len(read))):
            read += some
        return read == data
    finally:
        os.close(file)


def _publish(root: int, files: Mapping[str, FileContent], own: Callable[[], None]) -> None:
    try:
        name = _make_generation(root)
        with descended(root, name, no_follow.open_directory) as generation:
            os.fchmod(generation, 0o755)
            for path, content in files.items():
                _write_file(generation, path, content)
        own()
        tree.remove(root, _DATA_NEXT)
        os.symlink(name, _DATA_NEXT, dir_fd=root)
        os.rename(_DATA_NEXT, _DATA, src_dir_fd=root, dst_dir_fd=root)
    except BaseException:
        with suppress(OSError):
            _remove(root, _old_generations(root))
        raise


def _make_generation(root: int) -> str:
    while True:
        # Only a unique name: nothing compares it or reads the time from it.
        stamp = time.strftime("..%Y_%m_%d_%H_%M_%S", time.gmtime())
        name = f"{stamp}.{secrets.randbelow(2**32)}"
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=root)
            return name


def _write_file(generation: int, path: str, content: FileContent) -> None:
    with descended(generation, posixpath.dirname(path), _make_directory) as parent:
        file = os.open(posixpath.basename(path), _WRITE, 0o600, dir_fd=parent)
    try:
        left = memoryview(content.data)
        while left:
            left = left[os.write(file, left) :]
        if content.owner is not None:
            os.fchown(file, content.owner, -1)
        os.fchmod(file, content.mode)
    finally:
        os.close(file)


def _make_directory(parent: int, name: str) -> int:
    return no_follow.make_directory(parent, name, 0o755)


def _old_generations(root: int) -> list[str]:
    """The names not in use: older generations, and the link of an interrupted switch."""
    current = _find_current(root)
    return [
        name
        for name in os.listdir(root)
        if name == _DATA_NEXT or (_GENERATION.fullmatch(name) and name != current)
    ]


def _dangling_links(root: int, names: Set[str]) -> list[str]:
    return [name for name in os.listdir(root) if name not in names and _is_our_link(root, name)]


def _remove(root: int, names: Iterable[str]) -> None:
    """Remove names that no reader can reach; a failed removal is tried again by the next write."""
    for name in names:
        try:
            tree.remove(root, name)
        except OSError as error:
            _log.warning("cannot remove old files", name=name, error=error.strerror)


def _is_our_link(root: int, name: str) -> bool:
    try:
        return os.readlink(name, dir_fd=root) == f"{_DATA}/{name}"
    except OSError:
        return False  # not a link
