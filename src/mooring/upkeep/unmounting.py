"""Unmounting all that is mounted below a directory: what lies deepest first, each by its id.

A mount that is in use stays, and whoever uses it is named. One that does not let itself be
unmounted in its time is named too; it is detached lazily only when its file system is of a server
or a daemon. A disk's never is: it would go on writing out of sight, and its device or image be
taken for free.
"""

import errno
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event

import msgspec

from mooring.errors import HostError, KernelRefused
from mooring.host import mount_calls, same_mount
from mooring.host.mountinfo import MountEntry, read_table
from mooring.upkeep.bounded import Unfinished, each_within
from mooring.upkeep.holders import find_holders, tell_holders

SECONDS = 5.0  # for one unmount
BUSY_SECONDS = 1.0  # for what a process that was just killed still holds
_PAUSE = 0.05
_OF_SERVERS = frozenset(("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "glusterfs", "afs"))


Note = Callable[[MountEntry], None]
"""Puts on record that a mount may outlive its place in the mount table. Raises: HostError."""


class Unmounted(msgspec.Struct):
    """What came of it."""

    count: int = 0
    busy: list[MountEntry] = []
    troubles: list[str] = []


def unmount_order(entries: Sequence[MountEntry]) -> list[list[MountEntry]]:
    """Groups to be unmounted one after the other: each mount is in an earlier one than its parent.

    Within a group, what was mounted last comes first.
    """
    known = {entry.id for entry in entries}
    height = dict.fromkeys(known, 0)
    changed = True
    while changed:  # as often as mounts are nested
        changed = False
        for entry in entries:
            if entry.parent in known and height[entry.parent] <= height[entry.id]:
                if height[entry.id] >= len(entries):
                    raise HostError("the mount table contradicts itself")
                height[entry.parent] = height[entry.id] + 1
                changed = True
    groups: list[list[MountEntry]] = [[] for _ in range(max(height.values(), default=-1) + 1)]
    for entry in reversed(entries):
        groups[height[entry.id]].append(entry)
    return groups


def may_detach(entry: MountEntry) -> bool:
    """Whether taking it out of sight harms nothing: no disk of this machine is behind it."""
    of_daemon = entry.fs_type == "fuse" or entry.fs_type.startswith("fuse.")
    return entry.fs_type in _OF_SERVERS or of_daemon


def unmount_entries(
    wanted: Sequence[MountEntry], note: Note, seconds: float = SECONDS
) -> Unmounted:
    """Unmount these. What something is mounted on that stays, stays too.

    `note` is called before a mount is detached lazily, and for one that hangs out of sight.

    Repeated: nothing. Raises: HostError when the mount table cannot be read.
    """
    result = Unmounted()
    stays: set[int] = set()
    for group in unmount_order(wanted):
        ready = [entry for entry in group if entry.id not in stays]
        _unmount_group(ready, note, seconds, result)
        there = {(entry.id, entry.mount_point) for entry in read_table().entries}
        gone = {entry.id for entry in ready if (entry.id, entry.mount_point) not in there}
        result.count += len(gone)
        left = stays | {entry.id for entry in group if entry.id not in gone}
        stays = left | {entry.parent for entry in wanted if entry.id in left}
    if result.busy:
        holders = find_holders(result.busy)
        for entry in result.busy:
            who = tell_holders(entry, holders.get(entry.id, ()))
            result.troubles.append(f"{entry.at} stays mounted: {who}")
    return result


def _unmount_group(
    group: Sequence[MountEntry], note: Note, seconds: float, result: Unmounted
) -> None:
    """Try them all, those that are in use again for a moment."""
    left = list(group)
    until, pause = time.monotonic() + BUSY_SECONDS, Event()
    while left:
        told = each_within(seconds, [partial(_unmount, entry) for entry in left])
        busy = []
        for entry, outcome in zip(left, told, strict=True):
            if outcome is Unfinished.HUNG:
                result.troubles.append(_give_up(entry, note, seconds))
            elif isinstance(outcome, KernelRefused) and outcome.errno == errno.EBUSY:
                busy.append(entry)
            elif isinstance(outcome, Exception):
                result.troubles.append(f"{entry.at} stays mounted: {_first_line(outcome)}")
        if busy and time.monotonic() > until:
            result.busy += busy
            return
        left = busy
        if busy:
            pause.wait(_PAUSE)


def _unmount(entry: MountEntry) -> None:
    """One, if it is what its path shows; else it is gone, or hidden by another.

    Raises: KernelRefused.
    """
    path = entry.mount_point
    seen = same_mount.find_mount_at(path)
    if seen is None:
        there = read_table().find(path)
        seen = None if there is None else there.id
    if seen == entry.id:
        mount_calls.unmount(path)
    elif any(one.id == entry.id for one in read_table().entries):
        raise KernelRefused(f"another mount hides it: unmount {path} first", errno.EBUSY)


def _give_up(entry: MountEntry, note: Note, seconds: float) -> str:
    """It hangs: detach it where that is safe, and say so."""
    hangs = f"{entry.at} ({entry.fs_type} of {entry.source}) does not answer after {seconds:g} s"
    is_seen = any(one.id == entry.id for one in read_table().entries)
    if is_seen and not may_detach(entry):
        return f"{hangs} and stays mounted: see to its disk, then try again"
    try:
        note(entry)
    except HostError as error:
        return f"{hangs} and stays mounted: {_first_line(error)}"
    if not is_seen:
        return f"{hangs}: the kernel is still unmounting it"
    detached = each_within(seconds, [partial(mount_calls.detach_lazily, entry.mount_point)])[0]
    if detached is None:
        return f"{hangs}: it was detached lazily, and goes when its last user does"
    return f"{hangs} and stays mounted: see to its server, then try again"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
