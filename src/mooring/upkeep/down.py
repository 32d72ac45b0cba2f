"""`down`: nothing of a data directory's node runs or is mounted any more; objects and data stay."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host.contract import MountOps
from mooring.host.mountinfo import MountEntry, read_table
from mooring.oci.records import opened_directory, state_directory
from mooring.plugins.layout import Layout
from mooring.upkeep.containers import end_containers, list_containers
from mooring.upkeep.counted import counted
from mooring.upkeep.detached import DetachedMounts
from mooring.upkeep.driver_volumes import release_locks, release_volumes
from mooring.upkeep.place import Place, find_place, find_root, held_data, held_node, held_root
from mooring.upkeep.unmounting import unmount_entries

GRACE = 5.0  # seconds for containers that heed their stop signal
OWN_MOUNTS = ("pods", "containers", "host", "images")  # below the root; beside those of plugins


class Report(msgspec.Struct):
    """What was done, and what was not."""

    containers: int = 0
    mounts: int = 0
    volumes: int = 0
    troubles: list[str] = []
    farewell: str = ""  # what the cluster that the node has joined was told

    def __str__(self) -> str:
        done = [
            counted(self.containers, "container ended", "containers ended"),
            counted(self.mounts, "mount undone", "mounts undone"),
            counted(self.volumes, "driver volume released", "driver volumes released"),
        ]
        return ", ".join(part for part in done if part)


Leave = Callable[[Path], str]
"""Tells the cluster that the node with this root has left; what is said of it, or nothing."""


def stay(_root: Path) -> str:
    """For who tells nobody."""
    return ""


def take_down(
    data_dir: Path, mounts: MountOps, clock: Clock, grace: float = GRACE, leave: Leave = stay
) -> Report:
    """Repeated: nothing. `leave` is called while nobody can start the node again, and only if
    nothing of it is left. Raises: UsageError, also beside a running `mooring`.
    """
    place = find_place(data_dir)
    with held_data(place):
        return take_down_held(place, mounts, clock, grace, leave)


def take_down_held(
    place: Place, mounts: MountOps, clock: Clock, grace: float, leave: Leave = stay
) -> Report:
    """The same, for who holds the data directory."""
    report = Report()
    with held_node(place):
        _take_down(place, mounts, clock, grace, report)
        _leave(place.root, leave, report)
    _unmount_root(place.root, report)
    return report


def take_down_root(root_dir: Path, clock: Clock, grace: float, leave: Leave) -> Report:
    """The same for a `mooring node` that has a root directory of its own. Raises: UsageError."""
    root = find_root(root_dir)
    report = Report()
    with held_root(root):
        try:
            _end_pods(root, clock, grace, report)
        except HostError as error:
            report.troubles.append(str(error))
        _leave(root, leave, report)
    _unmount_root(root, Report())  # the socket of a driver that goes on may keep it: no harm
    return report


def _leave(root: Path | None, leave: Leave, report: Report) -> None:
    if root is None or leave is stay or report.troubles or _is_left_over(root):
        return
    try:
        detached = DetachedMounts(root).left()
    except HostError as error:
        report.troubles.append(str(error))
        return
    for one in detached:
        report.troubles.append(
            f"{one} was detached lazily and may still be written to, so no cluster is told that "
            "the node has left: restart this machine, then try again"
        )
    if not detached:
        report.farewell = leave(root)


def _is_left_over(root: Path) -> bool:
    """Whether a pod may still write to a volume: looked at anew, whatever was done before."""
    try:
        is_mounted = any(entry.mount_point != root for entry in read_table().below(root))
        return is_mounted or any(one.is_running for one in list_containers(root))
    except HostError:
        return True


def _take_down(place: Place, mounts: MountOps, clock: Clock, grace: float, report: Report) -> None:
    try:
        if place.root is not None:
            _end_pods(place.root, clock, grace, report)
        released = release_volumes(place.driver, mounts, clock)
        report.volumes = released.count
        report.troubles += released.troubles
    except HostError as error:
        report.troubles.append(str(error))


def _end_pods(root: Path, clock: Clock, grace: float, report: Report) -> None:
    """Raises: HostError."""
    ended = end_containers(root, grace, clock)
    report.containers = ended.count
    report.troubles += ended.troubles
    _unmount_all(root, ended.stuck, report)


def _unmount_root(root: Path | None, report: Report) -> None:
    """The root, bound onto itself, which the lock in it keeps busy. Only if it is empty."""
    if root is None:
        return
    left = read_table().below(root)
    if left and all(entry.mount_point == root for entry in left):
        _unmount(root, left, report)


def _unmount_all(root: Path, stuck: Sequence[Path], report: Report) -> None:
    """Pods' mounts first: a volume that is in use in a pod stays staged, with its device.

    The root file systems of containers that could not be ended are left: they use them.
    """
    release_locks(root)
    table = read_table()
    of_plugins = table.below(Layout(root).plugins)
    others = {entry for name in OWN_MOUNTS for entry in table.below(root / name)}
    for directory in stuck:
        others -= set(table.below(directory))
    of_users = table.below(opened_directory(state_directory(root)))
    of_pods = [entry for entry in table.below(root) if entry in others]
    busy = _unmount(root, [entry for entry in of_pods if entry.mount_point != root], report)
    _unmount(root, of_users, report)
    own = table.covering(root)
    spared = {entry.device for entry in busy} - ({own.device} if own is not None else set())
    _unmount(root, [entry for entry in of_plugins if entry.device not in spared], report)


def _unmount(root: Path, entries: Sequence[MountEntry], report: Report) -> list[MountEntry]:
    """What is in use, and stays."""
    done = unmount_entries(entries, DetachedMounts(root).note)
    report.mounts += done.count
    report.troubles += done.troubles
    return done.busy
