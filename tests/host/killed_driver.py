"""Drivers that are killed in the middle of a call: each a process of its own.

Run as a program it is a server of `killing`.
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.settings import MIB
from mooring.errors import CommandFailed
from tests.fakes.waiting import until
from tests.host.driver_life import Machine
from tests.host.killing import KilledMounts, Steps, serve

MARKER = "marker"
INLINE = "csi-inline"
SIZE = 16 * MIB


class Kind(Enum):
    EXT4 = "ext4"
    BLOCK = "block"

    @property
    def capability(self) -> dict[str, Any]:
        return {"is_block": True} if self is Kind.BLOCK else {"fs_type": self.value}


class Phase(Enum):
    """The call that is cut; those before it were made in peace."""

    CREATE = "create"
    ATTACH = "attach"
    STAGE = "stage"
    PUBLISH = "publish"
    SNAPSHOT = "snapshot"
    RESTORE = "restore"
    CLONE = "clone"
    GROUP = "group"
    INLINE = "publish an inline volume"
    MODIFY = "modify"
    EXPAND = "expand"
    DROP_INLINE = "unpublish the inline volume"
    UNPUBLISH = "unpublish"
    UNSTAGE = "unstage"
    STAGE_AGAIN = "stage again, grown"
    UNSTAGE_AGAIN = "unstage again"
    DETACH = "detach"
    DELETE_SNAPSHOT = "delete the snapshot"
    DELETE_GROUP = "delete the group"
    DELETE = "delete"


class Life:
    """All calls of a volume, one after the other; each can be repeated."""

    def __init__(self, machine: Machine, kind: Kind) -> None:
        self.machine = machine
        self.kind = kind

    @property
    def volume(self) -> str:
        return self.machine.driver.make("data", size=SIZE, **self.kind.capability).volume_id

    @property
    def files(self) -> Path:
        return self.machine.staging

    def call(self, phase: Phase) -> None:
        calls: dict[Phase, Callable[[], object]] = {
            Phase.CREATE: lambda: self.volume,
            Phase.ATTACH: lambda: self.machine.driver.attach(self.volume, **self.kind.capability),
            Phase.STAGE: lambda: self.machine.stage(self.volume, **self.kind.capability),
            Phase.PUBLISH: lambda: self.machine.publish(self.volume, **self.kind.capability),
            Phase.SNAPSHOT: lambda: self.machine.driver.snap(self.volume),
            Phase.RESTORE: self._restore,
            Phase.CLONE: self._clone,
            Phase.GROUP: self._group,
            Phase.INLINE: lambda: self.machine.publish_inline(INLINE),
            Phase.MODIFY: lambda: self.machine.driver.modify(self.volume, readIOPS="100"),
            Phase.DROP_INLINE: lambda: self.machine.unpublish(INLINE, INLINE),
            Phase.EXPAND: lambda: self.machine.driver.expand(self.volume, 2 * SIZE),
            Phase.UNPUBLISH: lambda: self.machine.unpublish(self.volume),
            Phase.UNSTAGE: lambda: self.machine.unstage(self.volume),
            Phase.STAGE_AGAIN: lambda: self.machine.stage(self.volume, **self.kind.capability),
            Phase.UNSTAGE_AGAIN: lambda: self.machine.unstage(self.volume),
            Phase.DETACH: lambda: self.machine.driver.detach(self.volume),
            Phase.DELETE_SNAPSHOT: self._delete_snapshot,
            Phase.DELETE_GROUP: self._delete_group,
            Phase.DELETE: self._delete,
        }
        calls[phase]()

    def mark(self) -> None:
        """Write something that must not get lost."""
        if self.kind is Kind.EXT4:
            (self.files / MARKER).write_text("kept")
        else:
            with self.machine.target().open("r+b") as device:
                device.write(b"kept")

    def is_marked(self, volume_id: str) -> bool:
        """Whether it is there; the volume is staged, and a device is published."""
        if self.kind is Kind.EXT4:
            return (self.files / MARKER).read_text() == "kept"
        with self.machine.driver.image(volume_id).open("rb") as image:
            return image.read(4) == b"kept"

    def _restore(self) -> None:
        snapshot = self.machine.driver.snap(self.volume).snapshot_id
        self.machine.driver.make(
            "restored", size=SIZE, snapshot_id=snapshot, **self.kind.capability
        )

    def _clone(self) -> None:
        source = self.volume
        self.machine.driver.make("clone", size=SIZE, volume_id=source, **self.kind.capability)

    def _group(self) -> None:
        """Of a raw device in use there is none."""
        clone = self.machine.driver.make(
            "clone", size=SIZE, volume_id=self.volume, **self.kind.capability
        ).volume_id
        volumes = [clone] if self.kind is Kind.BLOCK else [self.volume, clone]
        self.machine.driver.CreateVolumeGroupSnapshot(
            csi.CreateVolumeGroupSnapshotRequest(name="group", source_volume_ids=volumes)
        )

    def _delete_group(self) -> None:
        for group in self.machine.driver.core.state.groups.all():
            self.machine.driver.DeleteVolumeGroupSnapshot(
                csi.DeleteVolumeGroupSnapshotRequest(
                    group_snapshot_id=group.id, snapshot_ids=[one.id for one in group.snapshots]
                )
            )

    def _delete_snapshot(self) -> None:
        for snapshot in self.machine.driver.core.state.snapshots.all():
            self.machine.driver.unsnap(snapshot.id)

    def _delete(self) -> None:
        for identifier in self.machine.driver.ids():
            self.machine.driver.delete(identifier)


class Order(msgspec.Struct, frozen=True):
    place: str
    kind: Kind
    phase: Phase
    cut: int  # before which change to die; 0: none


def _call_in_peace(life: Life, phase: Phase) -> None:
    """Containers that start in other tests copy every mount for a moment, and hold its device."""

    def is_done() -> bool:
        try:
            life.call(phase)
        except CommandFailed as error:
            if "is in use" not in error.output:
                raise
            return False
        return True

    asyncio.run(until(is_done))


def live(order: Order) -> int:
    """How many changes the call took."""
    steps = Steps(order.place, order.cut, is_armed=False)
    life = Life(Machine(Path(order.place), KilledMounts(steps)), order.kind)
    for phase in Phase:
        if phase is order.phase:
            break
        _call_in_peace(life, phase)
        if phase is Phase.PUBLISH:
            life.mark()
    steps.is_armed = True
    life.call(order.phase)
    steps.is_armed = False
    return steps.count


if __name__ == "__main__":
    serve(Order, live)
