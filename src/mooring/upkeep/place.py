"""A data directory and its node's root, recognised, and held against every other mooring."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import msgspec

from mooring.driver.file_names import LOCK as DRIVER_LOCK
from mooring.errors import UsageError
from mooring.host.directory_lock import DirectoryLock, InUse
from mooring.node.home import LINK, find_home, read_owner
from mooring.node.root_lock import LOCK as ROOT_LOCK

DATABASE = "mooring.db"
DATABASE_LOCK = f"{DATABASE}.lock"
MIGRATED = f"{DATABASE}.migrated"  # whose objects are in etcd
ETCD_REVISION = "etcd-revision"  # of a server that keeps its objects in etcd
ETCD_PREFIX = "etcd-prefix"  # that its objects have there
DRIVER = "driver"
VOLUMES = "volumes"
_PROGRAMS = Path("/proc")
_ENDS_BY_ITSELF = frozenset(("down", "reset", "backup", "restore", "check"))


class Place(msgspec.Struct, frozen=True):
    """Where things are. Paths hold no symbolic link."""

    data: Path
    root: Path | None  # of its node; None: it never had one on this machine

    @property
    def database(self) -> Path:
        return self.data / DATABASE

    @property
    def driver(self) -> Path:
        """The state of the bundled driver."""
        return self.data / DRIVER

    @property
    def volumes(self) -> Path:
        """The directories that hostPath claims were given."""
        return self.data / VOLUMES


def find_place(data_dir: Path) -> Place:
    """The data directory at `data_dir`, or what a node of a removed one has left.

    Raises: UsageError when it is none of Mooring's.
    """
    data = data_dir.resolve()
    root = _find_root(data)
    is_there = (data / DATABASE).is_file() or (data / LINK).is_symlink()
    if not is_there and root is None:
        if not data.is_dir():
            raise UsageError(f"there is no {data}: give the directory of `mooring up --data-dir`")
        if (data / ETCD_REVISION).is_file():
            raise UsageError(f"the objects of {data} are in etcd, not in it: see docs/etcd.md")
        raise UsageError(
            f"{data} is no data directory of mooring (it has no {DATABASE}): give the one of "
            "`mooring up --data-dir`"
        )
    return Place(data, root)


def find_root(root_dir: Path) -> Path:
    """The root directory of a `mooring node`. Raises: UsageError when it is none."""
    root = root_dir.resolve()
    owner = read_owner(root)
    if owner is not None and Path(os.path.realpath(owner / LINK)) == root:
        raise UsageError(
            f"{root} is the node of the data directory {owner}: give --data-dir {owner} instead"
        )
    if not (root / ROOT_LOCK).is_file() or not (root / "pods").is_dir():
        raise UsageError(
            f"{root} is no root directory of a node: give the one of `mooring node --root-dir`"
        )
    return root


def _find_root(data: Path) -> Path | None:
    """Only one that says it is this data directory's, or is inside of it."""
    home = find_home(data)
    root = Path(os.path.realpath(home))
    if not root.is_dir():
        return None
    is_inside = home == data / LINK and not home.is_symlink()
    return root if is_inside or read_owner(root) == data or (data / LINK).is_symlink() else None


@contextmanager
def held(place: Place) -> Iterator[None]:
    """Nobody else works on any part of it meanwhile. Raises: UsageError when somebody does."""
    with held_data(place), held_node(place):
        yield


@contextmanager
def held_data(place: Place) -> Iterator[None]:
    """No `mooring up` starts on it meanwhile. Raises: UsageError."""
    with ExitStack() as locks:
        if place.data.is_dir():
            _hold(locks, place.data / DATABASE_LOCK, "--data-dir")
        yield


@contextmanager
def held_node(place: Place) -> Iterator[None]:
    """Neither a node nor a driver starts on it meanwhile. Raises: UsageError."""
    with ExitStack() as locks:
        if place.driver.is_dir() and not place.driver.is_symlink():
            _hold(locks, place.driver / DRIVER_LOCK, "--state-dir")
        if place.root is not None and place.root.is_dir():
            _hold(locks, place.root / ROOT_LOCK, "--root-dir")
        yield


@contextmanager
def held_root(root: Path) -> Iterator[None]:
    """No node starts on it meanwhile. Raises: UsageError."""
    with ExitStack() as locks:
        _hold(locks, root / ROOT_LOCK, "--root-dir")
        yield


def _hold(locks: ExitStack, path: Path, flag: str) -> None:
    try:
        lock = DirectoryLock.take(path, flag)
    except InUse as error:
        raise UsageError(in_use(path.parent, error.owner)) from error
    except OSError as error:
        raise UsageError(f"{path.parent} cannot be used: {error.strerror}") from error
    locks.callback(lock.release)


def in_use(directory: Path, owner: int) -> str:
    """Who has it, and what to do about that."""
    word = command_of(owner)
    who = f"`mooring {word}`" if word else "another mooring"
    remedy = "wait for it" if word in _ENDS_BY_ITSELF else "stop it first, with Ctrl-C or SIGTERM"
    return f"{directory} is in use by {who} (pid {owner or 'unknown'}): {remedy}"


def command_of(pid: int) -> str:
    """The command of a mooring; empty when it does not tell."""
    try:
        words = (_PROGRAMS / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    after = [
        follower for word, follower in pairwise(words) if Path(os.fsdecode(word)).name == "mooring"
    ]
    return os.fsdecode(after[0]) if after and after[0].isalpha() else ""
