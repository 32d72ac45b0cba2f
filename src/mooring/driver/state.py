"""The state directory: volumes, snapshots and groups, which appear and disappear atomically.

    volumes/<id>/record.json   the record of a volume
    volumes/<id>/image         its bytes: a file, or a link to a logical volume (backends/lvm.py)
    snapshots/<id>/...         the same for a snapshot
    groups/<id>/record.json    the record of a group snapshot, with those of its snapshots
    groups/<id>/<snapshot>     the bytes of one of them
    making/                    volumes and snapshots being created
    trash/                     volumes and snapshots being deleted
    inline/<id>                mount points of inline volumes (inline.py), but for `mooring up`
    thawing/                   a mount point, used for a moment (thawing.py)

A volume appears by one rename out of `making`, and disappears by one rename into `trash`; so there
is never half of one. Only files in those two are ever deleted: an image whose record is lost stays.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

import msgspec

from mooring import log
from mooring.driver.backends import image as file_image
from mooring.driver.file_names import IMAGE, RECORD, VOLUMES
from mooring.driver.records import GroupRecord, Record, SnapshotRecord, VolumeRecord
from mooring.driver.refusal import DATA_LOSS, CallRefused
from mooring.errors import HostError, UsageError
from mooring.host import tree
from mooring.host.refusal import refusals

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600

R = TypeVar("R", bound=Record)
Discard: TypeAlias = Callable[[Path], None]

_log = log.get("mooring.driver.state")


class Shelf(Generic[R]):
    """All volumes, all snapshots, or all groups.

    Reads come from memory, and each change is on disk first.
    """

    def __init__(
        self, root: Path, kind: type[R], directory: str, discard: Discard = file_image.discard
    ) -> None:
        self._kind = kind
        self._discard = discard
        self._root = root
        self._home = root / directory
        self._lock = Lock()
        self._records: dict[str, R] = {}
        self._damaged: set[str] = set()
        self._load()

    def find(self, identifier: str) -> R | None:
        """The record, or None. Raises: CallRefused when it exists and cannot be read."""
        if identifier in self._damaged:
            path = self._home / identifier / RECORD
            text = f"the record of {identifier} is damaged, and its data was left alone: {path}"
            raise CallRefused(DATA_LOSS, text)
        return self._records.get(identifier)

    def all(self) -> list[R]:
        """Sorted by id."""
        with self._lock:
            return [self._records[identifier] for identifier in sorted(self._records)]

    def image(self, identifier: str) -> Path:
        """The path of the image. The id must be that of a record."""
        return self.home(identifier) / IMAGE

    def home(self, identifier: str) -> Path:
        """The directory of a record."""
        return self._home / identifier

    @contextmanager
    def making(self, identifier: str) -> Iterator[Path]:
        """A path for a new image; removed again unless `add` is called inside the block."""
        with self.drafting(identifier) as draft:
            yield draft / IMAGE

    @contextmanager
    def drafting(self, identifier: str) -> Iterator[Path]:
        """A directory for new images; removed again unless `add` is called inside the block."""
        draft = self._draft(identifier)
        with refusals(f"make {identifier}"):
            self._clear(draft)
            self._clear(self._trash(identifier))  # that it could not be cleared of
            draft.mkdir(DIRECTORY_MODE)
        try:
            yield draft
        finally:
            with refusals(f"clear away {draft}"):
                self._clear(draft)

    def add(self, record: R) -> None:
        """Publish the new images with their record. After: it survives a crash."""
        draft, home = self._draft(record.id), self._home / record.id
        with refusals(f"add {record.id}"):
            _write(draft, record)
            for image in draft.iterdir():
                if not image.is_symlink():
                    sync(image)
            sync(draft)
            draft.rename(home)
            sync(self._home)
        with self._lock:
            self._records[record.id] = record

    def replace(self, record: R) -> R:
        """Replace a record, and return it. After: it survives a crash."""
        home = self._home / record.id
        with refusals(f"write the record of {record.id}"):
            _write(home, record)
            sync(home)
        with self._lock:
            self._records[record.id] = record
        return record

    def remove(self, identifier: str) -> None:
        """Delete the record and the image."""
        gone = self._trash(identifier)
        with refusals(f"remove {identifier}"):
            self._clear(gone)
            (self._home / identifier).rename(gone)
            sync(self._home)
        with self._lock:
            self._records.pop(identifier, None)
        self.finish_removal(identifier)

    def finish_removal(self, identifier: str) -> None:
        """Free what a `remove` that failed halfway has left; nothing is success."""
        with refusals(f"remove {identifier}"):
            self._clear(self._trash(identifier))

    def _clear(self, place: Path) -> None:
        clear(place, self._discard)

    def _trash(self, identifier: str) -> Path:
        return self._root / "trash" / identifier

    def _draft(self, identifier: str) -> Path:
        return self._root / "making" / identifier

    def _load(self) -> None:
        if not self._home.is_dir():  # there was none yet when the directory was backed up
            return
        with refusals(f"read {self._home}"):
            homes = sorted(path for path in self._home.iterdir() if path.is_dir())
        for home in homes:
            try:
                record = msgspec.json.decode((home / RECORD).read_bytes(), type=self._kind)
            except (OSError, msgspec.MsgspecError) as error:
                _log.warning("a damaged record", path=home / RECORD, error=error)
                self._damaged.add(home.name)
            else:
                self._records[home.name] = msgspec.structs.replace(record, id=home.name)


class State:
    """What is in one state directory, which is used by one driver at a time.

    Snapshots that were made as a group appear and disappear with it, so they are kept in it.
    """

    def __init__(self, root: Path, discard: Discard = file_image.discard) -> None:
        self.root = root
        self.volumes: Shelf[VolumeRecord] = Shelf(root, VolumeRecord, VOLUMES, discard)
        self.snapshots: Shelf[SnapshotRecord] = Shelf(root, SnapshotRecord, "snapshots", discard)
        self.groups: Shelf[GroupRecord] = Shelf(root, GroupRecord, "groups", discard)

    def find_snapshot(self, identifier: str) -> SnapshotRecord | None:
        """Of a group or not. Raises: CallRefused when its record cannot be read."""
        alone = self.snapshots.find(identifier)
        return alone or next((one for one in self._grouped() if one.id == identifier), None)

    def all_snapshots(self) -> list[SnapshotRecord]:
        """Those of groups too; sorted by id."""
        return sorted((*self.snapshots.all(), *self._grouped()), key=lambda one: one.id)

    def snapshot_image(self, snapshot: SnapshotRecord) -> Path:
        if snapshot.group_id:
            return self.groups.home(snapshot.group_id) / snapshot.id
        return self.snapshots.image(snapshot.id)

    def _grouped(self) -> Iterator[SnapshotRecord]:
        return (one for group in self.groups.all() for one in group.snapshots)


def open_state(root: Path, discard: Discard = file_image.discard) -> State:
    """Open the state in `root`, which is created if missing; `making` and `trash` are emptied.

    Raises: UsageError when it cannot be used.
    """
    try:
        root.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
        for name in (VOLUMES, "snapshots", "groups", "making", "trash"):
            (root / name).mkdir(DIRECTORY_MODE, exist_ok=True)
        for name in ("making", "trash"):
            for left in (root / name).iterdir():
                _log.info("clearing away what a crash left", path=left)
                _clear_left(left, discard)
    except OSError as error:
        text = f"the driver cannot use {error.filename or root}: {error.strerror}"
        raise UsageError(text) from error
    return State(root.resolve(), discard)


def _clear_left(left: Path, discard: Discard) -> None:
    """A logical volume that somebody has open stays, and its link: the next start tries again."""
    try:
        clear(left, discard)
    except HostError as error:
        _log.warning("what a crash left stays for now", path=left, because=error)


def clear(place: Path, discard: Discard) -> None:
    """Free the images of a directory in `making` or `trash`, then remove it; missing is success.

    Raises: OSError, HostError.
    """
    if place.is_dir() and not place.is_symlink():
        for image in sorted(place.iterdir()):
            discard(image)
    remove_tree(place)


def remove_tree(path: Path) -> None:
    """Remove a tree in `making` or `trash`; missing is success.

    Raises: OSError; EBUSY names a mount point.
    """
    with suppress(FileNotFoundError):
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            tree.remove(parent, path.name)
        finally:
            os.close(parent)


def sync(path: Path) -> None:
    """fsync a file or directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(home: Path, record: Record) -> None:
    unfinished = home / f"{RECORD}.unfinished"
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(unfinished, how, FILE_MODE)
    try:
        left = memoryview(msgspec.json.encode(record))
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unfinished.rename(home / RECORD)
