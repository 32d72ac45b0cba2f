"""`check`: a data directory and its machine, looked at; what is safe is put right on request."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from mooring.apiserver.store.database import Contents
from mooring.clock import Clock
from mooring.driver.backends import device
from mooring.driver.core import Core, new_core
from mooring.driver.file_names import IMAGE
from mooring.driver.publishing import is_published
from mooring.driver.records import VolumeRecord
from mooring.driver.recover import recover
from mooring.driver.settings import NAME, DriverSettings
from mooring.driver.staging import is_staged
from mooring.driver.state import State
from mooring.errors import HostError, MooringError, StoreError, UsageError
from mooring.host import loop_device, tree
from mooring.host.contract import MountOps
from mooring.host.directory_lock import DirectoryLock, InUse
from mooring.host.mountinfo import MountTable, read_table
from mooring.node.pod_directory import remove_pod
from mooring.plugins.layout import Layout
from mooring.upkeep.containers import (
    KeptContainer,
    list_containers,
    remove_container,
    settle_container,
)
from mooring.upkeep.database_copy import CannotCopy, read_copy
from mooring.upkeep.detached import DetachedMounts
from mooring.upkeep.driver_volumes import VOLUMES
from mooring.upkeep.findings import Finding, Repair, Seen, SeenContainer, SeenVolume, decide
from mooring.upkeep.place import DATABASE_LOCK, Place, find_place, held_node, in_use
from mooring.upkeep.printable import printable
from mooring.upkeep.unmounting import unmount_entries

DRAFTS = ("making", "trash")


class Checked(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...]  # that are left
    repaired: tuple[Finding, ...]
    failed: tuple[str, ...]  # repairs, with the reason
    objects: int
    volumes: int
    containers: int


def check(data_dir: Path, mounts: MountOps, clock: Clock, *, repair: bool) -> Checked:
    """Look at everything; with `repair`, put right what is safe, while nothing runs on it.

    Raises: UsageError, also for a repair beside a running `mooring`.
    """
    place = find_place(data_dir)
    with ExitStack() as locks:
        is_running = not _take(locks, place, must=repair)
        if repair:
            locks.enter_context(held_node(place))
        look = _Look(place, mounts, clock, is_running=is_running)
        findings = decide(look.seen)
        repaired, failed = [], []
        for finding in findings if repair else ():
            if finding.repair is not None:
                try:
                    look.repair(finding.repair, finding.subject)
                    repaired.append(finding)
                except MooringError as error:
                    failed.append(f"{finding.where}: {error}")
        left = tuple(finding for finding in findings if finding not in repaired)
        seen = look.seen
        return Checked(
            left,
            tuple(repaired),
            tuple(failed),
            look.objects,
            len(seen.volumes),
            len(seen.containers),
        )


def _take(locks: ExitStack, place: Place, *, must: bool) -> bool:
    """Whether nobody else has it."""
    if not place.data.is_dir():
        return True
    try:
        lock = DirectoryLock.take(place.data / DATABASE_LOCK)
    except InUse as error:
        if must:
            raise UsageError(in_use(place.data, error.owner)) from error
        return False
    except OSError as error:
        raise UsageError(f"{place.data} cannot be used: {error.strerror}") from error
    locks.callback(lock.release)
    return True


class _Look:
    """One look at everything. What is on the machine first, then what is wanted of it: a pod that
    comes meanwhile is not taken for one that does not exist."""

    def __init__(self, place: Place, mounts: MountOps, clock: Clock, *, is_running: bool) -> None:
        self._place = place
        self._mounts = mounts
        self._clock = clock
        self._core = _open_driver(place, mounts, clock)
        self._kept = list_containers(place.root) if place.root is not None else []
        pods = _pod_mounts(place.root, mounts.table()) if place.root is not None else {}
        volumes = tuple(self._volumes())
        drafts = tuple(_drafts(place.driver))
        contents, damage = _read(place.database, is_running=is_running)
        objects = _Objects(contents)
        self.objects = objects.count
        if is_running and place.root is not None:  # what went meanwhile is no finding
            there = _pod_mounts(place.root, mounts.table())
            pods = {uid: count for uid, count in there.items() if uid in pods}
        self.seen = Seen(
            damage=damage,
            pods=objects.pods,
            handles=objects.handles,
            unreadable=objects.unreadable,
            volumes=volumes,
            drafts=drafts,
            containers=tuple(map(_seen, self._kept)),
            pod_mounts=pods,
            is_running=is_running,
        )

    def repair(self, how: Repair, subject: str) -> None:
        """Raises: HostError when it cannot be."""
        match how:
            case Repair.REMOVE_POD:
                self._remove_pod(subject)
            case Repair.REMOVE_CONTAINER:
                remove_container(self._container(subject), self._mounts, self._clock)
            case Repair.SETTLE_CONTAINER:
                settle_container(self._container(subject), self._clock)
            case Repair.RECOVER_VOLUME:
                if self._core is not None:
                    recover(self._core, self._core.get_volume(subject))
            case Repair.CLEAR_DRAFT:
                draft = self._place.driver / subject
                if self._place.driver.is_symlink() or draft.parent.is_symlink():
                    raise HostError(f"{draft.parent} is a symbolic link: remove it first")
                tree.remove_path(self._place.driver / subject)

    def _remove_pod(self, uid: str) -> None:
        if self._place.root is None:
            return
        for one in self._kept:
            if one.record is not None and one.record.owner.pod_uid == uid:
                remove_container(one, self._mounts, self._clock)
        layout = Layout(self._place.root)
        note = DetachedMounts(self._place.root).note
        done = unmount_entries(read_table().below(layout.pod(uid)), note)
        if done.troubles:
            raise HostError("; ".join(done.troubles))
        remove_pod(layout, uid)

    def _container(self, id: str) -> KeptContainer:
        return next(one for one in self._kept if one.id == id)

    def _volumes(self) -> Iterator[SeenVolume]:
        core, home = self._core, self._place.driver / VOLUMES
        if core is None:
            return
        records = {volume.id: volume for volume in core.state.volumes.all()}
        for id in sorted(os.listdir(home)):
            record = records.get(id)
            try:
                size = (home / id / IMAGE).stat().st_size
            except OSError:
                size = None
            yield SeenVolume(
                id,
                is_readable=record is not None,
                wanted_bytes=record.size_bytes if record is not None else 0,
                image_bytes=size,
                is_stale=record is not None and _is_stale(core, record),
                is_inline=record is not None and record.is_inline,
            )


def _open_driver(place: Place, mounts: MountOps, clock: Clock) -> Core | None:
    if not all((place.driver / shelf).is_dir() for shelf in ("volumes", "snapshots")):
        return None
    return new_core(DriverSettings("", place.driver), State(place.driver), mounts, clock)


def _is_stale(core: Core, volume: VolumeRecord) -> bool:
    """Whether a start would change its record. Nobody uses it then."""
    image = core.image_of(volume)
    if volume.stage is None and not volume.publications:
        return loop_device.find(image) is not None and not device.is_in_use(image)
    if device.is_in_use(image):
        return False
    is_half = volume.stage is not None and not is_staged(core, volume)
    return is_half or any(not is_published(core, volume, one) for one in volume.publications)


def _drafts(driver: Path) -> Iterator[str]:
    for name in DRAFTS:
        if (driver / name).is_dir():
            yield from (f"{name}/{entry}" for entry in sorted(os.listdir(driver / name)))


def _pod_mounts(root: Path, table: MountTable) -> dict[str, int]:
    pods = Layout(root).pods
    try:
        found = dict.fromkeys(os.listdir(pods), 0)
    except FileNotFoundError:
        return {}
    for entry in table.below(pods):
        parts = entry.mount_point.relative_to(pods).parts
        if parts and parts[0] in found:
            found[parts[0]] += 1
    return found


def _seen(one: KeptContainer) -> SeenContainer:
    record = one.record
    return SeenContainer(
        one.id,
        one.told,
        "" if record is None else record.owner.pod_uid,
        is_running=one.is_running,
        is_settled=one.is_running or (record is not None and record.ended is not None),
    )


def _read(database: Path, *, is_running: bool) -> tuple[Contents | None, str]:
    """Its contents; or why there are none. A copy is read, also of one that nobody writes to."""
    if not database.is_file():
        return None, f"there is no {database.name}"
    try:
        return read_copy(database, is_written=is_running), ""
    except CannotCopy:
        raise
    except (StoreError, UsageError) as error:
        return None, str(error)


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""


class _Csi(msgspec.Struct, frozen=True, rename="camel"):
    driver: str = ""
    volume_handle: str = ""


class _Spec(msgspec.Struct, frozen=True):
    csi: _Csi | None = None


class _Any(msgspec.Struct, frozen=True):
    metadata: _Meta


class _Volume(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()


_any = msgspec.json.Decoder(_Any)
_volume = msgspec.json.Decoder(_Volume)


class _Objects:
    """What the database wants to be there."""

    def __init__(self, contents: Contents | None) -> None:
        tables = {} if contents is None else contents.tables
        self.count = sum(map(len, tables.values()))
        pods, unreadable = set(), []
        self.handles: dict[str, str] = {}
        for table, entries in tables.items():
            for name, entry in entries.items():
                try:
                    if table == "persistentvolumes":
                        self._take(_volume.decode(entry.value))
                    else:
                        found = _any.decode(entry.value)
                        if table == "pods":
                            pods.add(found.metadata.uid)
                except msgspec.MsgspecError:
                    unreadable.append(f"{table} {name}")
        self.pods = frozenset(pods)
        self.unreadable = tuple(unreadable)

    def _take(self, volume: _Volume) -> None:
        csi = volume.spec.csi
        if csi is not None and csi.driver == NAME:
            self.handles[csi.volume_handle] = volume.metadata.name


def told(findings: Sequence[Finding]) -> list[str]:
    """The findings as a table, with a line above it."""
    rows = [("WHERE", "FINDING", "REMEDY")]
    rows += [
        (printable(one.where), printable(" ".join(one.what.split())), printable(one.remedy))
        for one in findings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows]
