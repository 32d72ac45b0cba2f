"""Where the node of a data directory has its root: beside the data directory, never in it.

Below a node's root directory are mounts: pods' volumes, among them local disks, and containers'
root file systems. `rm -rf data`, `du` and `tar` would walk into them. So for root it is in
`/var/lib/mooring-node`, under a name that follows from the data directory's path, and `node` in the
data directory is a symbolic link to it. A node that starts over in the same place finds the same
root again, and with it what the last one left mounted and running. See docs/decisions/0017.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError, UsageError
from mooring.host.contract import MountOps
from mooring.host.directory_lock import DirectoryLock
from mooring.host.private_file import write_private
from mooring.node.home_choice import (
    HomeView,
    InPlace,
    MoveTo,
    NodeEntry,
    Refused,
    UseRoot,
    choose,
    names_for,
)
from mooring.node.root_lock import LOCK
from mooring.plugins.layout import DIRECTORY_MODE

HOMES = Path("/var/lib/mooring-node")
LINK = "node"  # in the data directory
RECORD = "data-dir"  # in a root: the path of the data directory that it belongs to
_HOMES_MODE = 0o700
_LONGEST_RECORD = 1 << 13

_log = log.get("mooring.node")


class Homes(msgspec.Struct, frozen=True):
    """Where roots are kept; None: this user cannot mount, and keeps them in data directories."""

    directory: Path | None


def usual_homes() -> Homes:
    return Homes(HOMES if os.geteuid() == 0 else None)


def find_home(data_dir: Path, homes: Homes | None = None) -> Path:
    """Where the root is, or is going to be; nothing is made. Raises: UsageError."""
    data, link, usual = _places(data_dir, homes)
    if usual is None:
        return link
    match choose(_look(data, link, usual, None, is_mounted=True)):
        case UseRoot(root):
            return root
        case InPlace() | MoveTo():
            return link
        case Refused(because):
            raise UsageError(because)


def take_home(
    data_dir: Path, mounts: MountOps, wanted: Path | None = None, homes: Homes | None = None
) -> Path:
    """The root directory of the data directory's node; `wanted` is what --root-dir says.

    After: it exists, it records its data directory, and the data directory's `node` links to it.
    Repeated: the same. Raises: UsageError.
    """
    data, link, usual = _places(data_dir, homes)
    if usual is None and wanted is None:
        return link
    wished = None if wanted is None else wanted.resolve()
    try:
        data.mkdir(0o700, parents=True, exist_ok=True)
        if wished is None and usual is not None:
            _make_homes(usual)
        is_mounted = _is_mounted(mounts, Path(os.path.realpath(link)))
        look = _look(data, link, usual or data.parent, wished, is_mounted=is_mounted)
        return _carry_out(choose(look), data, link)
    except OSError as error:
        path = error.filename or link
        raise UsageError(f"a node cannot use {path}: {error.strerror}") from error


def find_node_root(data_dir: Path | None, root_dir: Path | None, default: Path) -> Path:
    """The root directory of the node of `mooring up`, or of `mooring node`, as their flags say it.

    `default` is the data directory when neither is given. Nothing is made. Raises: UsageError when
    both are given.
    """
    _check_one(data_dir, root_dir)
    return root_dir or find_home(data_dir or default)


def make_node_root(
    data_dir: Path | None, root_dir: Path | None, default: Path, mounts: MountOps
) -> Path:
    """The same, made where it is missing: an image may be there before the node is."""
    _check_one(data_dir, root_dir)
    return root_dir or take_home(data_dir or default, mounts)


def _check_one(data_dir: Path | None, root_dir: Path | None) -> None:
    if data_dir is not None and root_dir is not None:
        raise UsageError(
            "--data-dir is of `mooring up`, --root-dir of `mooring node`: give one of them"
        )


def _carry_out(chosen: UseRoot | InPlace | MoveTo | Refused, data: Path, link: Path) -> Path:
    match chosen:
        case Refused(because):
            raise UsageError(because)
        case InPlace(because):
            _log.warning(because, path=link)
            return link
        case MoveTo(root):
            return _settle(root, data, link) if _move(link, root) else link
        case UseRoot(root):
            return _settle(root, data, link)


def _settle(root: Path, data: Path, link: Path) -> Path:
    root.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
    if not _is_safe(root.lstat()):
        raise UsageError(f"a node cannot use {root}: others than root can change what is in it")
    if read_owner(root) != data:
        write_private(root / RECORD, os.fsencode(data) + b"\n")
    _point(link, root)
    return root


def _places(data_dir: Path, homes: Homes | None) -> tuple[Path, Path, Path | None]:
    data = data_dir.resolve()
    usual = (homes or usual_homes()).directory
    return data, data / LINK, None if usual is None else usual.resolve()


# Looking.


def _look(
    data: Path, link: Path, homes: Path, wished: Path | None, *, is_mounted: bool
) -> HomeView:
    thing, leads_to = _thing_at(link)
    candidates = [homes / name for name in names_for(data)]
    asked = {root for root in (wished, leads_to, *candidates) if root is not None}
    claims = {root: _find_claimant(root, data) for root in asked}
    return HomeView(
        data=data,
        thing=thing,
        leads_to=leads_to,
        is_mounted=is_mounted,
        candidates=tuple(candidates),
        wished=wished,
        unusable=frozenset(root for root in asked if not _is_usable(root)),
        claimed_by={root: owner for root, owner in claims.items() if owner is not None},
        ours=frozenset(root for root in asked if read_owner(root) == data),
    )


def _thing_at(link: Path) -> tuple[NodeEntry, Path | None]:
    try:
        found = link.lstat()
    except FileNotFoundError:
        return NodeEntry.NOTHING, None
    if stat.S_ISLNK(found.st_mode):
        return NodeEntry.LINK, Path(link.readlink())
    if not stat.S_ISDIR(found.st_mode):
        return NodeEntry.OTHER, None
    return (NodeEntry.DIRECTORY if os.listdir(link) else NodeEntry.EMPTY_DIRECTORY), None


def _is_usable(root: Path) -> bool:
    """Whether it does not exist yet, or belongs to no other data directory."""
    try:
        found = root.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _is_safe(found)


def _find_claimant(root: Path, data: Path) -> Path | None:
    """Another data directory whose node this is: the root says so, and its link does."""
    owner = read_owner(root)
    if owner is None or owner == data:
        return None
    with suppress(OSError):
        if (owner / LINK).readlink() == root:
            return owner
    return None  # it was moved, or removed


def read_owner(root: Path) -> Path | None:
    """The data directory that a root says it belongs to."""
    try:
        opened = os.open(root / RECORD, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or not _is_safe(found):
            return None
        content = os.read(opened, _LONGEST_RECORD)
    finally:
        os.close(opened)
    return Path(os.fsdecode(content.removesuffix(b"\n"))) if content.startswith(b"/") else None


def _is_safe(found: os.stat_result) -> bool:
    """Whether only its owner can write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_mounted(mounts: MountOps, root: Path) -> bool:
    try:
        return bool(mounts.table().below(root))
    except HostError as error:
        raise UsageError(str(error)) from error


# Changing.


def _make_homes(homes: Path) -> None:
    homes.mkdir(_HOMES_MODE, parents=True, exist_ok=True)
    if not _is_safe(homes.stat()):
        raise UsageError(f"a node cannot use {homes}: others than root can change what is in it")


def _move(link: Path, root: Path) -> bool:
    """The directory that earlier versions had; False when it cannot be moved at a stroke."""
    lock = DirectoryLock.take(link / LOCK, "--root-dir")
    try:
        link.rename(root)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
            raise
        _log.warning(
            "pods' volumes are mounted in the data directory, which is another file system: do not "
            "remove it; stop mooring and move its node to be safe",
            path=link,
            to=root,
        )
        return False
    finally:
        lock.release()
    return True


def _point(link: Path, root: Path) -> None:
    """In one step, so that a crash leaves the old link or the new one."""
    if link.is_symlink():
        if link.readlink() == root:
            return
    elif link.is_dir():
        link.rmdir()  # an empty one
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(root)
    fresh.replace(link)
