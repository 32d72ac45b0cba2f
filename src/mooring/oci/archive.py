"""Files by name, out of an archive or a directory that holds images."""

import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from mooring.host import no_follow
from mooring.oci import tar
from mooring.oci.entry import EntryType
from mooring.oci.refused import ImageRefused, shown
from mooring.oci.stream import FileReader, section

MOST_DOCUMENT = 16 << 20  # bytes: registries stop at 4 MiB
_MOST_LINKS = 8
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Blob(msgspec.Struct, frozen=True):
    """A file, or a part of one, that is opened when it is read."""

    open: Callable[[], int]  # a descriptor, for the caller to close
    offset: int
    size: int

    def chunks(self) -> Iterator[bytes]:
        descriptor = self.open()
        try:
            yield from section(descriptor, self.offset, self.size)
        finally:
            os.close(descriptor)


class Files(Protocol):
    """Names have no `.` or `..` in them, and begin with no /."""

    def find(self, name: str) -> Blob | str | None:
        """A file, or where a symbolic link leads to."""
        ...


class DirectoryFiles:
    """Files below an open directory; a link is returned as such, and never followed."""

    def __init__(self, root: int) -> None:
        self._root = root

    def find(self, name: str) -> Blob | str | None:
        folder, base = posixpath.split(name)
        try:
            with no_follow.descended(self._root, folder, no_follow.open_directory) as parent:
                found = os.lstat(base, dir_fd=parent)
                if stat.S_ISLNK(found.st_mode):
                    return os.readlink(base, dir_fd=parent)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return Blob(lambda: self._open(folder, base), 0, found.st_size)

    def _open(self, folder: str, base: str) -> int:
        with no_follow.descended(self._root, folder, no_follow.open_directory) as parent:
            return os.open(base, _READ, dir_fd=parent)


class TarFiles:
    """Files of a tar archive that is not compressed, read where they are."""

    def __init__(self, descriptor: int) -> None:
        """Reads all headers. Raises: ImageRefused when it is no tar archive."""
        reader = FileReader(descriptor)
        self._found: dict[str, Blob | str] = {}
        for entry in tar.entries(reader):
            name = "/".join(entry.parts)
            if entry.kind is EntryType.FILE:
                self._found[name] = Blob(lambda: os.dup(descriptor), reader.offset, entry.size)
            elif entry.kind is EntryType.HARDLINK:
                self._found[name] = f"/{entry.target}"
            elif entry.kind is EntryType.SYMLINK:
                self._found[name] = entry.target

    def find(self, name: str) -> Blob | str | None:
        return self._found.get(name)


def find_file(files: Files, name: str) -> Blob | None:
    """Whatever is written in `name`, and in links on the way, nothing outside is found."""
    wanted = _inside(name)
    for _ in range(_MOST_LINKS):
        found = files.find(wanted)
        if not isinstance(found, str):
            return found
        wanted = _inside(posixpath.join(posixpath.dirname(wanted), found))
    return None


def _inside(name: str) -> str:
    return posixpath.normpath(f"/{name.lstrip('/')}")[1:]


def get_file(files: Files, name: str) -> Blob:
    """Raises: ImageRefused when there is none."""
    found = find_file(files, name)
    if found is None:
        raise ImageRefused(f"{shown(name)} is missing in it")
    return found


def get_document(files: Files, name: str) -> bytes:
    """A small file. Raises: ImageRefused when there is none, or it is not small."""
    found = get_file(files, name)
    if found.size > MOST_DOCUMENT:
        raise ImageRefused(f"{shown(name)} in it has {found.size} bytes: too many for a document")
    return b"".join(found.chunks())
