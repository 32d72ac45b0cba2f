"""`reset`: a data directory and its node's root are gone, and nothing else is."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.clock import Clock
from mooring.driver.backends import device
from mooring.driver.settings import NAME as DRIVER_NAME
from mooring.driver.state import IMAGE
from mooring.errors import HostError, MooringError
from mooring.host import tree
from mooring.host.contract import MountOps
from mooring.host.mountinfo import read_table
from mooring.node.home import HOMES, LINK, RECORD
from mooring.node.home_choice import NAME as HOME_NAME
from mooring.node.root import LOCK as ROOT_LOCK
from mooring.oci.records import opened_directory, state_directory
from mooring.plugins.layout import Layout
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
)

# The database goes last but for its lock: until then the next try knows what this is.
OWN = (LINK, VOLUMES, DRIVER, "kubeconfig", "own-node-name", "tokens.json", "pki")
OWN_LAST = (f"{DATABASE}-wal", f"{DATABASE}-revision", f"{DATABASE}.new", DATABASE, DATABASE_LOCK)
OWN_IN_ROOT = ("pods", "containers", "images", "logs", "host", "plugins_registry")
OWN_PLUGINS = ("kubernetes.io", DRIVER_NAME)


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


def take_inventory(place: Place) -> Inventory:
    own = {*OWN, *OWN_LAST}
    return Inventory(
        place.data,
        place.root,
        sum(_size(place.data / name) for name in OWN_LAST),
        len(_names(place.driver / DRIVER_VOLUMES)),
        len(_names(place.volumes)),
        tuple(name for name in _names(place.data) if name not in own),
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
    place = find_place(data_dir)
    with held_data(place):
        found = take_inventory(place)
        if not agree(found):
            return None
        report = take_down_held(place, mounts, clock, grace)
        in_use = [*report.troubles, *_uses(place)]
        if in_use:
            raise StillInUse("\n".join(in_use))
        return Removed(tuple(_remove(place)), found.others)


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
    if place.root is not None:
        state = state_directory(place.root)
        for directory in (state, opened_directory(state)):
            if directory.is_dir():
                tree.remove_path(directory)
        _remove_root(place.root)
        yield place.root
    for name in (*OWN, *OWN_LAST):
        if os.path.lexists(place.data / name):
            tree.remove_path(place.data / name)
    with suppress(OSError):  # others' files are in it, or it is a mount point
        place.data.rmdir()
    yield place.data


def _remove_root(root: Path) -> None:
    """All of one that Mooring has named; of one that was given, only what is Mooring's."""
    if root.parent == HOMES.resolve() and HOME_NAME.fullmatch(root.name):
        tree.remove_path(root)
        return
    plugins = Layout(root).plugins
    own = [root / name for name in OWN_IN_ROOT] + [plugins / name for name in OWN_PLUGINS]
    for path in own:
        if os.path.lexists(path):
            tree.remove_path(path)
    with suppress(OSError):
        plugins.rmdir()
    for name in (RECORD, ROOT_LOCK):
        (root / name).unlink(missing_ok=True)
    with suppress(OSError):
        root.rmdir()


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
