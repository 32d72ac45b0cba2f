"""What wakes a group or its content."""

from collections.abc import Iterable

from mooring.controllers.snapshots.informers import (
    BY_CLASS,
    BY_CONTENT,
    UNBOUND,
    SnapshotInformers,
)
from mooring.controllers.snapshots.metrics import OF_GROUPS, Progress, SnapshotMetrics
from mooring.controllers.snapshots.names import find_group_owner, group_content_names
from mooring.model.claim import Claim
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotClass, GroupSnapshotContent
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.volume import Volume
from mooring.reconcile.queue import KeyedQueue


class GroupEventHandlers:
    def __init__(
        self,
        informers: SnapshotInformers,
        groups: KeyedQueue[Key],
        contents: KeyedQueue[Key],
        metrics: SnapshotMetrics,
    ) -> None:
        self._known = informers
        self._groups = groups
        self._contents = contents
        self._metrics = metrics

    def attach(self) -> None:
        known = self._known
        known.groups.on_change(self._on_group)
        known.group_contents.on_change(self._on_group_content)
        known.group_classes.on_change(self._on_class)
        known.snapshots.on_change(self._on_snapshot)
        known.contents.on_change(self._on_content)
        known.claims.on_change(self._on_claim)
        known.volumes.on_change(self._on_volume)

    def _on_group(self, before: GroupSnapshot | None, after: GroupSnapshot | None) -> None:
        if after is not None:
            self._groups.add(after.key)
            self._metrics.saw(OF_GROUPS, after.uid, self._progress(after))
        elif before is not None:
            self._metrics.gone(OF_GROUPS, before.uid, self._progress(before))

    def _on_group_content(
        self, before: GroupSnapshotContent | None, after: GroupSnapshotContent | None
    ) -> None:
        known = after or before
        if known is None:
            return
        if after is not None and (before is None or before.spec != after.spec):
            self._contents.add(after.key)
        self._groups.add(known.spec.volume_group_snapshot_ref.key)
        self._wake(self._known.groups.by_index(BY_CONTENT, known.name))

    def _on_class(
        self, before: GroupSnapshotClass | None, after: GroupSnapshotClass | None
    ) -> None:
        names = {each.name for each in (before, after) if each is not None}
        if any(each.is_default for each in (before, after) if each is not None):
            names.add("")
        for name in names:
            self._wake(self._known.groups.by_index(BY_CLASS, name))

    def _on_snapshot(self, before: Snapshot | None, after: Snapshot | None) -> None:
        """A group waits for its members: to be bound, or to be restored no longer."""
        known = after or before
        owner = None if known is None else find_group_owner(known)
        if known is not None and owner is not None:
            self._groups.add(Key(known.namespace, owner.name))

    def _on_content(self, before: SnapshotContent | None, after: SnapshotContent | None) -> None:
        known = after or before
        snapshot = None if known is None else known.spec.volume_snapshot_ref
        held = None if snapshot is None else self._known.snapshots.get(snapshot.key)
        self._on_snapshot(None, held)

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        known = after or before
        if known is None:
            return
        if after is not None:
            self._wake(self._known.groups.by_index(UNBOUND, after.namespace))
        for source in (known.spec.data_source_ref, known.spec.data_source):
            if source is not None and source.kind == Snapshot.resource.kind:
                key = Key(source.namespace or known.namespace, source.name)
                self._on_snapshot(None, self._known.snapshots.get(key))

    def _on_volume(self, _before: Volume | None, after: Volume | None) -> None:
        if after is not None and after.spec.claim_ref is not None:
            namespace = after.spec.claim_ref.namespace
            self._wake(self._known.groups.by_index(UNBOUND, namespace))

    def _wake(self, groups: Iterable[GroupSnapshot]) -> None:
        for group in groups:
            self._groups.add(group.key)

    def _progress(self, group: GroupSnapshot) -> Progress:
        status = group.status
        return Progress(
            self._driver_of(group),
            group.spec.source.volume_group_snapshot_content_name is not None,
            status is not None and status.creation_time is not None,
            group.is_ready,
            group.is_deleting,
        )

    def _driver_of(self, group: GroupSnapshot) -> str:
        for name in group_content_names(group):
            content = self._known.group_contents.get(Key("", name))
            if content is not None:
                return content.spec.driver
        return ""
