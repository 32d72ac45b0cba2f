"""What is wrong with a data directory, decided from one picture of it. Pure.

Nothing is called left over when the database cannot be read: then nobody knows what is wanted.
"""

from collections.abc import Iterator, Mapping
from enum import Enum

import msgspec


class Repair(Enum):
    """What can be put right without touching anybody's data."""

    REMOVE_POD = "unmount and remove it"
    REMOVE_CONTAINER = "end and remove it"
    SETTLE_CONTAINER = "note its end"
    RECOVER_VOLUME = "bring its record in line"
    CLEAR_DRAFT = "remove it"


class Finding(msgspec.Struct, frozen=True):
    where: str
    what: str
    remedy: str
    repair: Repair | None = None
    subject: str = ""  # of the repair


class SeenVolume(msgspec.Struct, frozen=True):
    """Of the bundled driver."""

    id: str
    is_readable: bool = True  # its record
    wanted_bytes: int = 0
    image_bytes: int | None = 0  # None: there is no image
    is_stale: bool = False  # the record tells of a use that is not there
    is_inline: bool = False  # of a pod, without a PersistentVolume


class SeenContainer(msgspec.Struct, frozen=True):
    id: str
    told: str  # for people
    pod_uid: str  # empty: its record cannot be read
    is_running: bool = False
    is_settled: bool = True  # it runs, or its record tells how it ended


class Seen(msgspec.Struct, frozen=True):
    """A data directory and its machine, at one moment."""

    damage: str = ""  # why the database cannot be read
    pods: frozenset[str] = frozenset()  # uids of those in the database
    handles: Mapping[str, str] = {}  # ids of the driver's volumes: the PersistentVolume of each
    unreadable: tuple[str, ...] = ()  # objects that are no JSON
    volumes: tuple[SeenVolume, ...] = ()
    drafts: tuple[str, ...] = ()  # of the driver: what a crash left
    containers: tuple[SeenContainer, ...] = ()
    pod_mounts: Mapping[str, int] = {}  # directories of pods by uid, and how many mounts they have
    is_running: bool = False  # a server works on it


def decide(seen: Seen) -> tuple[Finding, ...]:
    """All findings, the worst first."""
    found = [*_of_database(seen), *_of_volumes(seen)]
    if not seen.damage:
        found += [*_of_left_volumes(seen), *_of_pods(seen)]
    return (*found, *_of_containers(seen))


def _of_database(seen: Seen) -> Iterator[Finding]:
    if seen.damage:
        yield Finding("database", seen.damage, "restore a backup: mooring restore FILE")
    for name in seen.unreadable:
        yield Finding("database", f"{name} is no object", "restore a backup: mooring restore FILE")


def _of_volumes(seen: Seen) -> Iterator[Finding]:
    for volume in seen.volumes:
        where = f"volume {volume.id}"
        if not volume.is_readable:
            yield Finding(
                where, "its record cannot be read; its data was left alone", "restore its record"
            )
        if volume.image_bytes is None:
            yield Finding(where, "its data is missing", "restore a backup with its contents")
        elif volume.is_readable and volume.image_bytes < volume.wanted_bytes:
            yield Finding(
                where,
                f"its image has {volume.image_bytes} bytes of {volume.wanted_bytes}",
                "restore a backup with its contents",
            )
        if volume.is_stale and not seen.is_running:
            yield Finding(
                where,
                "its record tells of a use that is not there",
                "mooring check --repair",
                Repair.RECOVER_VOLUME,
                volume.id,
            )
    for name in seen.drafts if not seen.is_running else ():
        what = f"{name} is left of something that was cut short"
        yield Finding("driver", what, "mooring check --repair", Repair.CLEAR_DRAFT, name)


def _of_left_volumes(seen: Seen) -> Iterator[Finding]:
    known = {volume.id for volume in seen.volumes}
    inline = {volume.id for volume in seen.volumes if volume.is_inline}
    for id in sorted(known - inline - seen.handles.keys()):
        yield Finding(
            f"volume {id}",
            "no PersistentVolume tells of it",
            "if nobody needs it: make a volume with this volumeHandle, then delete it",
        )
    for handle in sorted(seen.handles.keys() - known):
        yield Finding(
            f"pv/{seen.handles[handle]}",
            f"the bundled driver has no volume {handle}",
            "restore a backup with its contents, or delete it",
        )


def _of_pods(seen: Seen) -> Iterator[Finding]:
    for uid in sorted(seen.pod_mounts.keys() - seen.pods):
        mounts = seen.pod_mounts[uid]
        yield Finding(
            f"pod {uid}",
            f"it does not exist, and has {mounts} mounts and a directory here",
            "mooring check --repair",
            Repair.REMOVE_POD,
            uid,
        )


def _of_containers(seen: Seen) -> Iterator[Finding]:
    for one in seen.containers:
        if one.pod_uid and one.pod_uid not in seen.pods and not seen.damage:
            state = "runs" if one.is_running else "is kept"
            what = f"it {state}, and its pod does not exist"
            yield _of(one, what, Repair.REMOVE_CONTAINER)
        elif seen.is_running:
            continue
        elif not one.pod_uid:
            yield _of(one, "its making was cut short", Repair.REMOVE_CONTAINER)
        elif not one.is_settled:
            yield _of(one, "nobody saw it end", Repair.SETTLE_CONTAINER)


def _of(one: SeenContainer, what: str, repair: Repair) -> Finding:
    return Finding(one.told, what, "mooring check --repair", repair, one.id)
