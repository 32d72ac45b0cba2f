"""Writing a backup's tar file: each member with its checksum, sparse files without their holes."""

import errno
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import msgspec

from mooring.errors import UsageError
from mooring.host import tree
from mooring.upkeep.manifest import BYTES, MANIFEST, MAP, SEAL, Manifest, Member, SparseMap, seal_of

_CHUNK = 1 << 20
_FILE_MODE = 0o600


class ArchiveWriter:
    """Raises: OSError from every call."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.TarFile(
            fileobj=file, mode="w", format=tarfile.PAX_FORMAT, copybufsize=_CHUNK
        )
        self.members: dict[str, Member] = {}
        self.left_out: list[str] = []  # neither files nor directories nor links

    def add_bytes(self, name: str, content: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.mode, info.size = _FILE_MODE, len(content)
        self._add(info, io.BytesIO(content))

    def add_file(self, name: str, path: Path) -> None:
        """A plain file that nobody changes in place."""
        with path.open("rb") as file:
            info = tarfile.TarInfo(name)
            seen = os.fstat(file.fileno())
            info.mode, info.size, info.mtime = seen.st_mode & 0o777, seen.st_size, seen.st_mtime
            self._add(info, file)

    def add_sparse(self, name: str, path: Path) -> None:
        """Only what is not a hole; a file that is written to meanwhile is as it is read."""
        with path.open("rb", buffering=0) as file:
            found = _map_of(file.fileno())
            self.add_bytes(f"{name}{MAP}", msgspec.json.encode(found))
            info = tarfile.TarInfo(f"{name}{BYTES}")
            info.mode, info.size = _FILE_MODE, sum(length for _, length in found.pieces)
            self._add(info, _Pieces(file.fileno(), found))

    def add_tree(self, name: str, directory: Path) -> None:
        """All below a directory, with owners and modes; no mount is entered, no link followed."""
        root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        links: dict[tuple[int, int], str] = {}
        try:
            with closing(tree.walk(root)) as visits:
                for parent, entry, _, kind in visits:
                    if kind is not tree.EntryKind.MOUNT_POINT:
                        self._add_entry(
                            _path_of(name, directory, parent, entry), parent, entry, links
                        )
            self._add_special(_info(name, os.fstat(root)))
        finally:
            os.close(root)

    def finish(self, manifest: Manifest) -> None:
        content = msgspec.json.format(msgspec.json.encode(manifest))
        self.add_bytes(MANIFEST, content)
        self.add_bytes(SEAL, seal_of(content))
        self._tar.close()

    def _add_entry(
        self, name: str, parent: int, entry: str, links: dict[tuple[int, int], str]
    ) -> None:
        if not name.isascii() and not _is_utf8(name):
            raise UsageError(f"{name!r} cannot be kept, its name is not UTF-8: rename or remove it")
        try:
            seen = os.stat(entry, dir_fd=parent, follow_symlinks=False)
            info = _info(name, seen)
            if stat.S_ISREG(seen.st_mode):
                first = links.setdefault((seen.st_dev, seen.st_ino), name)
                if first != name:
                    info.type, info.linkname, info.size = tarfile.LNKTYPE, first, 0
                    self._add_special(info)
                    return
                how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                with os.fdopen(os.open(entry, how, dir_fd=parent), "rb") as file:
                    info.size = os.fstat(file.fileno()).st_size
                    self._add(info, file)
            elif stat.S_ISLNK(seen.st_mode):
                info.type, info.linkname = tarfile.SYMTYPE, os.readlink(entry, dir_fd=parent)
                self._add_special(info)
            elif stat.S_ISDIR(seen.st_mode):
                self._add_special(info)
            else:
                self.left_out.append(name)
        except FileNotFoundError:
            return  # it went meanwhile

    def _add(self, info: tarfile.TarInfo, file: "IO[bytes] | _Pieces") -> None:
        hashed = _Hashed(file, info.size)
        self._tar.addfile(info, hashed)
        self.members[info.name] = Member(info.size, hashed.digest())

    def _add_special(self, info: tarfile.TarInfo) -> None:
        self._tar.addfile(info)
        told = f"{info.type!r} {info.linkname}".encode(errors="surrogateescape")
        self.members[info.name] = Member(0, hashlib.sha256(told).hexdigest())


def _info(name: str, seen: os.stat_result) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(seen.st_mode)
    info.uid, info.gid, info.mtime = seen.st_uid, seen.st_gid, seen.st_mtime
    info.type = tarfile.DIRTYPE if stat.S_ISDIR(seen.st_mode) else tarfile.REGTYPE
    return info


def _path_of(name: str, directory: Path, parent: int, entry: str) -> str:
    at = Path(os.readlink(f"/proc/self/fd/{parent}"))
    return str(Path(name) / at.relative_to(directory) / entry)


class _Hashed:
    """Reads a file and remembers its checksum. One that shrinks meanwhile ends in zeros."""

    def __init__(self, file: "IO[bytes] | _Pieces", size: int) -> None:
        self._file = file
        self._left = size
        self._hash = hashlib.sha256()

    def read(self, count: int = -1, /) -> bytes:
        wanted = self._left if count < 0 else min(count, self._left)
        piece = self._file.read(wanted)
        if len(piece) < wanted:
            piece += bytes(wanted - len(piece))
        self._left -= wanted
        self._hash.update(piece)
        return piece

    def digest(self) -> str:
        return self._hash.hexdigest()


class _Pieces:
    """The bytes of a sparse file, one piece after the other."""

    def __init__(self, descriptor: int, found: SparseMap) -> None:
        self._descriptor = descriptor
        self._pieces = iter(found.pieces)
        self._at, self._left = 0, 0

    def read(self, count: int) -> bytes:
        read = b""
        while len(read) < count:
            if not self._left:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._at, self._left = piece
            some = os.pread(self._descriptor, min(count - len(read), self._left), self._at)
            if not some:  # it was cut short meanwhile
                some = bytes(min(count - len(read), self._left))
            self._at, self._left = self._at + len(some), self._left - len(some)
            read += some
        return read


def _map_of(descriptor: int) -> SparseMap:
    size = os.fstat(descriptor).st_size
    return SparseMap(size, tuple(_pieces(descriptor, size)))


def _pieces(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    position = 0
    while position < size:
        try:
            begin = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # holes to the end
                raise
            return
        position = min(size, os.lseek(descriptor, begin, os.SEEK_HOLE))
        if begin < position:
            yield begin, position - begin


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
