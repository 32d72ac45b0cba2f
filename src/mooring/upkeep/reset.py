"""`reset`: a data directory and its node's root are gone, and nothing else is."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.clock import Clock
from mooring.driver.backends import device
from mooring.driver.file_names import CLASS_MADE, IMAGE
from mooring.driver.file_names import LOCK as DRIVER_LOCK
from mooring.driver.settings import NAME as DRIVER_NAME
from mooring.errors import HostError, MooringError, UsageError
from mooring.host import tree
from mooring.host.contract import MountOps
from mooring.host.mountinfo import read_table
from mooring.node.home import HOMES, LINK, RECORD, read_owner
from mooring.node.home_choice import NAME as HOME_NAME
from mooring.node.instance import FILE as INSTANCE
from mooring.node.root_lock import LOCK as ROOT_LOCK
from mooring.oci.records import ID, opened_directory, state_directory
from mooring.plugins.host_path.folder import FOLDER as MADE_BELOW
from mooring.upkeep.down import take_down_held
from mooring.upkeep.driver_volumes import VOLUMES as DRIVER_VOLUMES
from mooring.upkeep.holders import find_users_below
from mooring.upkeep.place import (
    DATABASE,
    DATABASE_LOCK,
    DRIVER,
    VOLUMES,
    Place,
    find_place,
    held_data,
    held_node,
)
from mooring.upkeep.retained import find_retained

# The database goes last but for its lock: until then the next try knows what this is.
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OWN_FILES = ("kubeconfig", "own-node-name", "tokens.json", "join-tokens.json", "server-url")
OWN_BELOW: Mapping[str, re.Pattern[str]] = {
    f"{VOLUMES}/{MADE_BELOW}": UUID,
    VOLUMES: re.compile(CLASS_MADE),
    DRIVER: re.compile(
        "volumes|snapshots|groups|inline|making|trash|"
        f"([a-z-]+-)?{CLASS_MADE}|{re.escape(DRIVER_LOCK)}"
    ),
    "pki": re.compile(r"[a-z-]+\.(crt|key|pem)"),
}
"""What Mooring makes in its directories; what else is in them stays, and so do they."""
OWN_LAST = (f"{DATABASE}-wal", f"{DATABASE}-revision", f"{DATABASE}.new", DATABASE, DATABASE_LOCK)
IN_GIVEN_ROOT: Mapping[str, re.Pattern[str]] = {
    "pods": UUID,
    "containers": ID,
    "plugins": re.compile(rf"kubernetes\.io|{re.escape(DRIVER_NAME)}"),
    "plugins_registry": re.compile(rf"{re.escape(DRIVER_NAME)}-reg\.sock"),
}
"""Of a root that the user has named; images and logs in it stay."""


class StillInUse(MooringError):
    """Nothing was removed; the text names what is in use."""


class Inventory(msgspec.Struct, frozen=True):
    """What a reset removes."""

    data: Path
    root: Path | None
    database_bytes: int
    driver_volumes: int
    directories: int  # of hostPath claims
    others: tuple[str, ...]  # in the data directory, and not Mooring's: they stay
    retained: tuple[str, ...] | None = ()  # volumes that go against their policy; None: unknown


def take_inventory(place: Place) -> Inventory:
    own = {LINK, VOLUMES, DRIVER, "pki", *OWN_FILES, *OWN_LAST}
    return Inventory(
        place.data,
        place.root if _is_own_root(place) else None,
        sum(_size(place.data / name) for name in OWN_LAST),
        len(_names(place.driver / DRIVER_VOLUMES)),
        len(_names(place.volumes / MADE_BELOW)),
        tuple(name for name in _names(place.data) if name not in own),
        find_retained(place),
    )


class Removed(msgspec.Struct, frozen=True):
    paths: tuple[Path, ...]
    others: tuple[str, ...]


def reset(
    data_dir: Path,
    mounts: MountOps,
    clock: Clock,
    grace: float,
    agree: Callable[[Inventory], bool],
) -> Removed | None:
    """Take everything down and remove it, if `agree` says so; None when it does not.

    Repeated after it was killed midway: goes on. No mount is ever entered.
    Raises: UsageError; StillInUse, HostError.
    """
    if _is_all_but_gone(data_dir.resolve()):
        return _finish(data_dir.resolve())
    place = find_place(data_dir)
    if not _is_plain_file(place.database):
        raise UsageError(
            f"{place.data} is no data directory of mooring (it has no {DATABASE}); what its node "
            "has left is ended by `mooring down`"
        )
    with held_data(place):
        with held_node(place):  # or else it is said before anybody is asked
            found = take_inventory(place)
        if not agree(found):
            return None
        report = take_down_held(place, mounts, clock, grace)
        with held_node(place):
            in_use = [*report.troubles, *_uses(place)]
            if in_use:
                raise StillInUse("\n".join(in_use))
            paths = tuple(_remove(place))
        return Removed(paths, tuple(_names(place.data)))


def _is_all_but_gone(data: Path) -> bool:
    """Whether an earlier reset was killed when only the lock was left."""
    is_last = data.is_dir() and os.listdir(data) == [DATABASE_LOCK]
    return is_last and _is_plain_file(data / DATABASE_LOCK)


def _finish(data: Path) -> Removed:
    with held_data(Place(data, None)):
        (data / DATABASE_LOCK).unlink(missing_ok=True)
        with suppress(OSError):
            data.rmdir()
    return Removed((data,), ())


def _uses(place: Place) -> Iterator[str]:
    """Why it cannot be removed: mounts, open images, processes."""
    places = [path for path in (place.data, place.root) if path is not None]
    for path in places:
        for entry in read_table().below(path):
            if entry.mount_point != place.data:  # a disk of its own, which is emptied
                yield f"{entry.at} is a mount point of {entry.source}: unmount it first"
    for name in _names(place.driver / DRIVER_VOLUMES):
        image = place.driver / DRIVER_VOLUMES / name / IMAGE
        if image.exists() and device.is_open(image):
            yield f"{image} is open, perhaps mounted in another mount namespace: end that first"
    for path in places:
        for holder in find_users_below(path):
            yield f"{path} is in use by ({holder}): end it first"


def _remove(place: Place) -> Iterator[Path]:
    """What was removed. Raises: HostError."""
    if place.root is not None and _is_own_root(place):
        state = state_directory(place.root)
        for directory in (state, opened_directory(state)):
            if directory.is_dir():
                tree.remove_path(directory)
        _remove_root(place.root)
        yield place.root
    if (place.data / LINK).is_symlink():
        (place.data / LINK).unlink()
    for name, own in OWN_BELOW.items():
        _remove_below(place.data / name, own)
    for name in (*OWN_FILES, *OWN_LAST):
        if _is_plain_file(place.data / name):
            (place.data / name).unlink()
    with suppress(OSError):  # others' files are in it, or it is a mount point
        place.data.rmdir()
    yield place.data


def _is_own_root(place: Place) -> bool:
    """Whether the root says that it is this data directory's: a link to it proves nothing."""
    if place.root == place.data / LINK:  # inside of it, where nothing is mounted
        return _is_plain_file(place.root / ROOT_LOCK)
    return place.root is not None and read_owner(place.root) == place.data


def _remove_root(root: Path) -> None:
    """All of one that Mooring has named; of one that was given, only what is Mooring's."""
    if root.parent == HOMES.resolve() and HOME_NAME.fullmatch(root.name):
        tree.remove_path(root)
        return
    for name, own in IN_GIVEN_ROOT.items():
        _remove_below(root / name, own)
    for name in (RECORD, ROOT_LOCK, INSTANCE):
        (root / name).unlink(missing_ok=True)
    with suppress(OSError):
        root.rmdir()


def _remove_below(directory: Path, own: re.Pattern[str]) -> None:
    """What has such a name in a directory that is no link; and itself, if nothing is left in it."""
    if directory.parent.is_symlink() or directory.is_symlink() or not directory.is_dir():
        return
    for name in _names(directory):
        if own.fullmatch(name):
            tree.remove_path(directory / name)
    with suppress(OSError):
        directory.rmdir()


def _is_plain_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HostError(f"cannot list {directory}: {error.strerror}") from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
