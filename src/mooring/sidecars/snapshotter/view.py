"""What the snapshotter looks at: a content and its class."""

import msgspec

from mooring.csi.capability import ControllerCapability
from mooring.model.group_snapshot import GroupSnapshotClass, GroupSnapshotContent
from mooring.model.snapshot import SnapshotClass, SnapshotContent
from mooring.sidecars.driver import Abilities
from mooring.sidecars.snapshotter.options import SnapshotterOptions


class ContentView(msgspec.Struct, frozen=True):
    driver: str
    abilities: Abilities
    options: SnapshotterOptions
    content: SnapshotContent
    snapshot_class: SnapshotClass | None  # that it names
    is_unlisted: bool = False  # taken, and not listed: some drivers list only what is ready

    @property
    def can_look_up(self) -> bool:
        """Whether the driver tells of a snapshot without being asked to take it again."""
        able = self.abilities
        is_able = able.can(ControllerCapability.GET_SNAPSHOT) or able.can(
            ControllerCapability.LIST_SNAPSHOTS
        )
        return is_able and not self.is_unlisted


class GroupContentView(msgspec.Struct, frozen=True):
    driver: str
    abilities: Abilities
    options: SnapshotterOptions
    content: GroupSnapshotContent
    group_class: GroupSnapshotClass | None  # that it names


def wakes(before: SnapshotContent | None, after: SnapshotContent) -> bool:
    """Whether a change needs a reconcile; what the snapshotter writes itself does not, but the end
    of a creation that a deletion waits for."""
    return before is None or _told(before) != _told(after)


def _told(content: SnapshotContent) -> tuple[object, ...]:
    waits = content.is_deleting and content.is_being_created
    handle = content.snapshot_handle if content.is_member else ""  # written by the controller
    return content.spec, content.is_deleting, content.is_being_deleted, waits, handle


def group_wakes(before: GroupSnapshotContent | None, after: GroupSnapshotContent) -> bool:
    return before is None or _group_told(before) != _group_told(after)


def _group_told(content: GroupSnapshotContent) -> tuple[object, ...]:
    waits = content.is_deleting and content.is_being_created
    return content.spec, content.is_deleting, content.is_being_deleted, waits
