"""`restore`: a backup becomes a data directory, whole or not at all."""

import hashlib
import os
import shlex
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from mooring.apiserver.store.copying import raise_revision
from mooring.apiserver.store.database import read_summary
from mooring.errors import UsageError
from mooring.host import no_follow
from mooring.host.mountinfo import read_table
from mooring.node.home import find_home, read_owner
from mooring.upkeep.manifest import (
    BYTES,
    DATA,
    FORMAT,
    MANIFEST,
    MAP,
    SEAL,
    Manifest,
    Member,
    SparseMap,
    differences,
    seal_of,
    this_machine,
)
from mooring.upkeep.place import DATABASE, DRIVER, VOLUMES
from mooring.upkeep.printable import printable
from mooring.upkeep.scratch import scratch_directory

HEADROOM = 1_000_000  # versions that clients may have seen since the backup
UNPACKED = "data"
_LAST_REVISION = (1 << 63) - 1 - HEADROOM  # of which numbers SQLite can keep
_LAST_ID = (1 << 32) - 2  # of users and groups
_LARGEST = (1 << 63) - 1  # bytes of a file
_CHUNK = 1 << 20
_LONGEST = 1 << 28  # bytes of a member that is read whole


class Restored(msgspec.Struct, frozen=True):
    manifest: Manifest
    differences: tuple[str, ...]  # one line each


def restore(file: Path, data_dir: Path) -> Restored:
    """Make `data_dir`, which is missing or empty, what the backup `file` holds.

    Raises: UsageError, Damaged; nothing is left of the attempt then.
    """
    data = data_dir.resolve()
    _check_free(data)
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        beside = scratch_directory(data.parent, f".{data.name}.mooring-", frozenset((UNPACKED,)))
        with file.open("rb") as opened, beside as directory:
            unpacked = directory / UNPACKED
            unpacked.mkdir(0o700)
            manifest = _unpack(opened, file, unpacked)
            _settle(unpacked / DATABASE, manifest, file)
            unpacked.rename(data)
            _sync(data.parent)
    except OSError as error:
        raise UsageError(f"cannot restore {file} to {data}: {error.strerror or error}") from error
    return Restored(manifest, tuple(differences(manifest, this_machine(), data)))


def _check_free(data: Path) -> None:
    """Raises: UsageError when something is there already, or goes on from an earlier one."""
    if os.path.lexists(data) and not data.is_dir():
        raise UsageError(f"{data} is no directory: give --data-dir one that is empty or missing")
    if data.is_dir() and os.listdir(data):
        what = "is a data directory already" if (data / DATABASE).exists() else "is not empty"
        raise UsageError(f"{data} {what}: restore into an empty or missing --data-dir")
    root = find_home(data)
    if read_owner(root) == data and len(read_table().below(root.resolve())) > 0:
        raise UsageError(
            f"volumes of an earlier {data} are still mounted in {root}: run `mooring down "
            f"--data-dir {shlex.quote(str(data))}` first"
        )


def _settle(database: Path, manifest: Manifest, file: Path) -> None:
    """Check it once more, as a start would. Raises: Damaged, UsageError."""
    contents = read_summary(database)
    if contents.revision != manifest.revision:
        raise _altered(file, f"{DATABASE} is of another revision")
    if not 0 < contents.revision <= _LAST_REVISION:
        raise _altered(file, f"{DATABASE} cannot have reached revision {contents.revision}")
    try:
        raise_revision(database, contents.revision + HEADROOM)
    except sqlite3.Error as error:
        raise UsageError(f"cannot restore {file}: {error}") from error
    for path in (database, database.parent):
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unpack(opened: IO[bytes], file: Path, target: Path) -> Manifest:
    """Raises: UsageError when it is not what was written; OSError."""
    root = os.open(target, no_follow.DIRECTORY)
    try:
        with tarfile.open(fileobj=opened, mode="r|", bufsize=_CHUNK) as archive:
            return _Unpacker(file, root).unpack(archive)
    except (tarfile.TarError, EOFError, RecursionError) as error:  # recursion: headers of headers
        raise _cut(file) from error
    except (ValueError, OverflowError) as error:  # numbers and names that no file has
        raise _altered(file, str(error)) from error
    finally:
        os.close(root)


class _Unpacker:
    def __init__(self, file: Path, root: int) -> None:
        self._file = file
        self._root = root
        self._members: dict[str, Member] = {}
        self._manifest = b""
        self._seal = b""
        self._map = SparseMap(0, ())
        self._directories: list[tarfile.TarInfo] = []

    def unpack(self, archive: tarfile.TarFile) -> Manifest:
        for info in archive:
            match info.name:
                case name if name == MANIFEST:
                    self._manifest = self._read(archive, info)
                case name if name == SEAL:
                    self._seal = self._read(archive, info)
                case name if name.startswith(DATA) and not self._manifest:
                    self._take(archive, info)
                case name:
                    raise _altered(self._file, f"{name[:80]!r} does not belong there")
        for info in reversed(self._directories):  # now that nothing more comes into them
            self._own_directory(info)
        return self._checked()

    def _checked(self) -> Manifest:
        if not self._manifest or not self._seal:
            raise _cut(self._file)
        if self._seal != seal_of(self._manifest):
            raise _altered(self._file, f"{MANIFEST} is not what was written")
        try:
            manifest = msgspec.json.decode(self._manifest, type=Manifest)
        except msgspec.MsgspecError as error:
            raise _altered(self._file, str(error)) from error
        if manifest.format != FORMAT:
            raise UsageError(
                f"{self._file} has format {manifest.format}, not {FORMAT}: use mooring "
                f"{printable(manifest.version)}"
            )
        self._compare(manifest.members)
        return manifest

    def _compare(self, wanted: Mapping[str, Member]) -> None:
        for name in sorted({*wanted, *self._members}):
            if wanted.get(name) != self._members.get(name):
                raise _altered(self._file, f"{name!r} is not what was written")

    def _take(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        path = _safe(info.name.removeprefix(DATA), self._file)
        self._check_numbers(info)
        if info.isreg():
            self._take_file(archive, info, path)
            return
        told = f"{info.type!r} {info.linkname}".encode(errors="surrogateescape")
        self._members[info.name] = Member(0, hashlib.sha256(told).hexdigest())
        if info.isdir():
            self._directories.append(info)
            with no_follow.descended(self._root, path, _make_directory):
                return
        if not path.startswith(f"{VOLUMES}/"):
            raise _altered(self._file, f"{info.name!r} may not be a link")
        with self._parent(path) as (parent, name):
            if info.issym():
                os.symlink(info.linkname, name, dir_fd=parent)
                if os.geteuid() == 0:
                    os.chown(name, info.uid, info.gid, dir_fd=parent, follow_symlinks=False)
            elif info.islnk():
                self._link(info, parent, name)
            else:
                raise _altered(self._file, f"{info.name[:80]!r} is no file")

    def _check_numbers(self, info: tarfile.TarInfo) -> None:
        is_owned = 0 <= info.uid <= _LAST_ID and 0 <= info.gid <= _LAST_ID
        if not is_owned or not 0 <= info.size <= _LARGEST or not 0 <= info.mode <= 0o7777:
            raise _altered(self._file, f"{info.name[:80]!r} has numbers that no file has")

    def _take_file(self, archive: tarfile.TarFile, info: tarfile.TarInfo, path: str) -> None:
        is_image = path.startswith(f"{DRIVER}/")
        if is_image and path.endswith(MAP):
            content = self._read(archive, info)
            self._members[info.name] = _member(content)
            try:
                self._map = msgspec.json.decode(content, type=SparseMap)
            except msgspec.MsgspecError as error:
                raise _altered(self._file, str(error)) from error
            if not _is_possible(self._map):
                raise _altered(self._file, f"{info.name[:80]!r} is no map of a file")
            return
        is_sparse = is_image and path.endswith(BYTES)
        with self._parent(path.removesuffix(BYTES) if is_sparse else path) as (parent, name):
            how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            written = os.open(name, how, 0o600, dir_fd=parent)
            try:
                pieces = self._map.pieces if is_sparse else ((0, info.size),)
                self._members[info.name] = self._copy(archive, info, written, pieces)
                if is_sparse:
                    os.ftruncate(written, self._map.size)
                self._own(info, written, path)
                os.fsync(written)
            finally:
                os.close(written)

    def _copy(
        self,
        archive: tarfile.TarFile,
        info: tarfile.TarInfo,
        written: int,
        pieces: tuple[tuple[int, int], ...],
    ) -> Member:
        source = archive.extractfile(info)
        if source is None:
            raise _altered(self._file, f"{info.name!r} is no file")
        hashed, size = hashlib.sha256(), 0
        for begin, length in pieces:
            at, end = begin, begin + length
            while at < end:
                some = source.read(min(_CHUNK, end - at))
                if not some:
                    raise _cut(self._file)
                hashed.update(some)
                size += len(some)
                left = memoryview(some)
                while left:
                    done = os.pwrite(written, left, at)
                    at, left = at + done, left[done:]
        return Member(size, hashed.hexdigest())

    def _link(self, info: tarfile.TarInfo, parent: int, name: str) -> None:
        first = _safe(info.linkname.removeprefix(DATA), self._file)
        with self._parent(first) as (directory, entry):
            os.link(entry, name, src_dir_fd=directory, dst_dir_fd=parent, follow_symlinks=False)

    def _own(self, info: tarfile.TarInfo, descriptor: int, path: str) -> None:
        """As it was, in volumes; all else is private to who restores it."""
        if not path.startswith(f"{VOLUMES}/"):
            os.fchmod(descriptor, info.mode & 0o700)
            return
        if os.geteuid() == 0:
            os.fchown(descriptor, info.uid, info.gid)
        os.fchmod(descriptor, info.mode)

    def _own_directory(self, info: tarfile.TarInfo) -> None:
        path = _safe(info.name.removeprefix(DATA), self._file)
        with no_follow.descended(self._root, path, no_follow.open_directory) as opened:
            self._own(info, opened, path)

    def _read(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
        source = archive.extractfile(info)
        if source is None or info.size > _LONGEST:
            raise _altered(self._file, f"{info.name!r} is not what was written")
        content = source.read()
        if len(content) != info.size:
            raise _cut(self._file)
        return content

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The directory of `path`, made if need be and reached through no link; its last name."""
        directory, _, name = path.rpartition("/")
        with no_follow.descended(self._root, directory, _make_directory) as parent:
            yield parent, name


def _make_directory(parent: int, name: str) -> int:
    return no_follow.make_directory(parent, name, 0o700)


def _safe(path: str, file: Path) -> str:
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise _altered(file, f"{path[:80]!r} is no name in a data directory")
    return path


def _is_possible(found: SparseMap) -> bool:
    """Whether the pieces follow each other, and end before the file does."""
    at = 0
    for begin, length in found.pieces:
        if begin < at or length < 0:
            return False
        at = begin + length
    return at <= found.size <= _LARGEST


def _member(content: bytes) -> Member:
    return Member(len(content), hashlib.sha256(content).hexdigest())


def _cut(file: Path) -> UsageError:
    return UsageError(f"{file} is no whole backup of mooring: it was cut, or is another file")


def _altered(file: Path, why: str) -> UsageError:
    return UsageError(f"{file} was altered since it was written, and is not restored: {why}")
