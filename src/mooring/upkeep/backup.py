"""`backup`: one consistent file of a data directory, while it is in use or not."""

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from mooring import __version__
from mooring.apiserver.store.copying import copy_database
from mooring.apiserver.store.database import Summary, read_summary
from mooring.clock import Clock
from mooring.driver.file_names import CLASS_MADE, IMAGE, RECORD
from mooring.errors import UsageError
from mooring.host import loop_device
from mooring.host.directory_lock import DirectoryLock, InUse
from mooring.plugins.host_path.folder import FOLDER as MADE_BELOW
from mooring.upkeep.archive import ArchiveWriter
from mooring.upkeep.manifest import DATA, Manifest, this_machine
from mooring.upkeep.place import (
    DATABASE,
    DATABASE_LOCK,
    DRIVER,
    VOLUMES,
    Place,
    command_of,
    find_place,
    in_use,
)
from mooring.upkeep.scratch import scratch_directory

FILES = ("tokens.json", "kubeconfig")
KEYS = "pki"
SHELVES = ("volumes", "snapshots", "groups")  # of the bundled driver
UNFINISHED, COPIED = "backup", "database"
_SCRATCH = frozenset((UNFINISHED, COPIED, f"{COPIED}-wal", f"{COPIED}-shm"))
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CHANGING = ("reset", "restore")


class BackedUp(msgspec.Struct, frozen=True):
    objects: int
    revision: int
    size: int  # of the file
    volumes_in_use: int  # whose contents were copied while they could be written to
    left_out: tuple[str, ...]  # FIFOs, sockets and device nodes in volumes


def back_up(data_dir: Path, file: Path, clock: Clock, *, with_volumes: bool) -> BackedUp:
    """Write the backup `file`, mode 0600; what was there is replaced when the new one is whole.

    Raises: UsageError, Damaged, StoreError; nothing is left of the attempt then.
    """
    place = find_place(data_dir)
    target = Path(os.path.realpath(file))
    if target.is_relative_to(place.data):
        raise UsageError(f"{file} is in the data directory, and would be lost with it")
    if not place.database.is_file():
        raise UsageError(f"{place.data} has no database: there is nothing to back up")
    _check_target(target, file)
    try:
        beside = scratch_directory(target.parent, f".{target.name}.mooring-", _SCRATCH)
        with _held_if_free(place) as is_free, beside as directory:
            result = _write(place, directory, clock, is_free=is_free, with_volumes=with_volumes)
            (directory / UNFINISHED).replace(target)
            _sync(target.parent)
            return result
    except OSError as error:
        raise UsageError(_refusal(file, error.errno or 0, error.strerror or str(error))) from error
    except sqlite3.Error as error:
        full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        raise UsageError(_refusal(file, errno.ENOSPC if full else 0, str(error))) from error


def _check_target(target: Path, file: Path) -> None:
    """Raises: UsageError for what a backup would replace, and must not."""
    try:
        seen = target.lstat()
    except OSError:
        return  # missing; or who makes it says why not
    if not stat.S_ISREG(seen.st_mode):
        raise UsageError(f"{file} is no plain file: give a backup a name of its own")


def _refusal(file: Path, number: int, reason: str) -> str:
    if number in _NO_ROOM:
        return f"there is no room for {file}: free some, or choose another disk"
    return f"cannot write {file}: {reason}"


@contextmanager
def _held_if_free(place: Place) -> Iterator[bool]:
    """Whether nobody else has the data directory; then nobody gets it meanwhile.

    Raises: UsageError when it is just being removed or made.
    """
    with ExitStack() as locks:
        try:
            lock = DirectoryLock.take(place.data / DATABASE_LOCK)
        except InUse as error:
            if command_of(error.owner) in _CHANGING:
                raise UsageError(in_use(place.data, error.owner)) from error
            yield False
            return
        locks.callback(lock.release)
        yield True


def _write(
    place: Place, directory: Path, clock: Clock, *, is_free: bool, with_volumes: bool
) -> BackedUp:
    """The database first: a volume that an object tells of then has its record too."""
    copied = directory / COPIED
    summary = copy_database(place.database, copied, read_summary, is_written=not is_free)
    with (directory / UNFINISHED).open("xb") as file:
        os.fchmod(file.fileno(), 0o600)
        archive = ArchiveWriter(file)
        archive.add_file(f"{DATA}{DATABASE}", copied)
        _add_keys(archive, place.data)
        volumes = list(_records(place.driver))
        _add_driver(archive, place.driver, volumes)
        used = _add_volumes(archive, place, volumes) if with_volumes else 0
        manifest = _manifest(place, summary, archive, clock, len(volumes), with_volumes)
        archive.finish(manifest)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    left_out = tuple(archive.left_out)
    return BackedUp(manifest.objects, manifest.revision, size, used, left_out)


def _add_keys(archive: ArchiveWriter, data: Path) -> None:
    for name in FILES:
        if (data / name).is_file():
            archive.add_file(f"{DATA}{name}", data / name)
    for path in sorted((data / KEYS).iterdir()) if (data / KEYS).is_dir() else ():
        if path.is_file() and not path.name.startswith("."):
            archive.add_file(f"{DATA}{KEYS}/{path.name}", path)


def _records(driver: Path) -> Iterator[Path]:
    """The directories of the bundled driver's volumes, its snapshots, and groups of them."""
    for shelf in SHELVES:
        if (driver / shelf).is_dir():
            yield from sorted((driver / shelf).iterdir())


def _add_driver(archive: ArchiveWriter, driver: Path, volumes: Sequence[Path]) -> None:
    for made in sorted(driver.glob(f"*{CLASS_MADE}")):
        archive.add_bytes(f"{DATA}{DRIVER}/{made.name}", b"")
    for volume in volumes:
        with suppress(FileNotFoundError):  # deleted meanwhile
            archive.add_file(f"{DATA}{_name(driver, volume)}/{RECORD}", volume / RECORD)


def _add_volumes(archive: ArchiveWriter, place: Place, volumes: Sequence[Path]) -> int:
    """How many of them somebody could write to meanwhile."""
    used = 0
    for volume in volumes:
        for image in _images(volume):
            with suppress(FileNotFoundError):
                archive.add_sparse(f"{DATA}{_name(place.driver, image)}", image)
                used += loop_device.find(image) is not None
    if place.volumes.is_dir():
        archive.add_tree(f"{DATA}{VOLUMES}", place.volumes)
    return used


def _images(volume: Path) -> list[Path]:
    """That of a volume or a snapshot, or those of the snapshots of a group."""
    from mooring.driver.identifiers import is_snapshot_id  # and gRPC, which nobody else needs

    with suppress(FileNotFoundError):  # deleted meanwhile
        return sorted(
            path for path in volume.iterdir() if path.name == IMAGE or is_snapshot_id(path.name)
        )
    return []


def _name(driver: Path, volume: Path) -> str:
    return f"{DRIVER}/{volume.relative_to(driver)}"


def _manifest(
    place: Place,
    summary: Summary,
    archive: ArchiveWriter,
    clock: Clock,
    volumes: int,
    has_volumes: bool,  # noqa: FBT001
) -> Manifest:
    return Manifest(
        version=__version__,
        created=clock.now(),
        machine=this_machine(),
        nodes=tuple(sorted(name.rpartition("/")[2] for name in summary.names.get("nodes", ()))),
        revision=summary.revision,
        objects=sum(map(len, summary.names.values())),
        volumes=volumes,
        has_volumes=has_volumes,
        members=dict(archive.members),
        data_dir=str(place.data),
        directories=_count_directories(place.volumes / MADE_BELOW),
    )


def _count_directories(made: Path) -> int:
    try:
        return len(os.listdir(made))
    except OSError:
        return 0


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
