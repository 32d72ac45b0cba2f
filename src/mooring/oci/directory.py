"""A directory of this machine as the entries of a layer: a root file system to import."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping

from mooring.host import no_follow, same_mount
from mooring.oci.entry import Body, EntryType, LayerEntry, Parts
from mooring.oci.stream import PIECE

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hold us up

_KINDS = {
    stat.S_IFREG: EntryType.FILE,
    stat.S_IFDIR: EntryType.DIRECTORY,
    stat.S_IFLNK: EntryType.SYMLINK,
    stat.S_IFIFO: EntryType.FIFO,
    stat.S_IFCHR: EntryType.DEVICE,
    stat.S_IFBLK: EntryType.DEVICE,
}


class DirectoryEntries:
    """Everything below a directory. Sockets, and what is mounted inside, are left out.

    The same files give the same entries in the same order; when all of them have been read,
    `digest` is that of what was read. Reading raises OSError.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._hash = hashlib.sha256()
        self._seen: dict[tuple[int, int], Parts] = {}  # files with several names
        self._waiting: list[Parts] = []

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def __iter__(self) -> Iterator[LayerEntry]:
        yield self._entry((), os.fstat(self._root), _xattrs(self._root))
        self._waiting.append(())
        while self._waiting:
            parts = self._waiting.pop()
            way = "/".join(parts)
            with no_follow.descended(self._root, way, same_mount.enter) as directory:
                for name in sorted(os.listdir(directory)):
                    yield from self._found(directory, (*parts, name))

    def _found(self, directory: int, where: Parts) -> Iterator[LayerEntry]:
        name = where[-1]
        found = os.lstat(name, dir_fd=directory)
        match _KINDS.get(stat.S_IFMT(found.st_mode)):
            case None:
                return
            case EntryType.FILE:
                yield from self._file(directory, where)
            case EntryType.DIRECTORY:
                yield from self._directory(directory, where, found)
            case EntryType.SYMLINK:
                yield self._entry(where, found, target=os.readlink(name, dir_fd=directory))
            case _:
                yield self._entry(where, found)

    def _file(self, directory: int, where: Parts) -> Iterator[LayerEntry]:
        file = os.open(where[-1], _READ, dir_fd=directory)
        try:
            found = os.fstat(file)
            identity = (found.st_dev, found.st_ino)
            if identity in self._seen:
                first = "/".join(self._seen[identity])
                yield self._entry(where, found, kind=EntryType.HARDLINK, target=first)
                return
            if found.st_nlink > 1:
                self._seen[identity] = where
            body = self._hashed(_pieces(file, found.st_size))
            yield self._entry(where, found, _xattrs(file), body=body)
        finally:
            os.close(file)

    def _directory(
        self, directory: int, where: Parts, found: os.stat_result
    ) -> Iterator[LayerEntry]:
        try:
            opened = same_mount.enter(directory, where[-1])
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            yield self._entry(where, found)  # a mount point, without what is mounted
            return
        try:
            yield self._entry(where, os.fstat(opened), _xattrs(opened))
        finally:
            os.close(opened)
        self._waiting.append(where)

    def _entry(
        self,
        where: Parts,
        found: os.stat_result,
        xattrs: Mapping[str, bytes] | None = None,
        *,
        kind: EntryType | None = None,
        target: str = "",
        body: Body = iter(()),  # noqa: B008  empty, and so for all
    ) -> LayerEntry:
        entry = LayerEntry(
            parts=where,
            kind=kind or _KINDS[stat.S_IFMT(found.st_mode)],
            mode=stat.S_IMODE(found.st_mode),
            uid=found.st_uid,
            gid=found.st_gid,
            mtime_ns=found.st_mtime_ns,
            target=target,
            xattrs=xattrs or {},
            size=found.st_size if stat.S_ISREG(found.st_mode) else 0,
            body=body,
        )
        said = (where, entry.kind.name, entry.mode, entry.uid, entry.gid, entry.mtime_ns)
        more = (target, sorted(entry.xattrs.items()), entry.size)
        self._hash.update(ascii((said, more)).encode())
        return entry

    def _hashed(self, body: Body) -> Body:
        for offset, chunk in body:
            self._hash.update(b"%d %d " % (offset, len(chunk)))
            self._hash.update(chunk)
            yield offset, chunk


def _pieces(file: int, size: int) -> Body:
    """What a file holds; its holes are jumped over."""
    offset = 0
    while offset < size:
        try:
            offset = os.lseek(file, offset, os.SEEK_DATA)
            hole = min(size, os.lseek(file, offset, os.SEEK_HOLE))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # a hole to the end
        while offset < hole:
            piece = os.pread(file, min(PIECE, hole - offset), offset)
            if not piece:
                return  # truncated meanwhile
            yield offset, piece
            offset += len(piece)


def _xattrs(descriptor: int) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return {}
