"""What wakes a snapshot, a content or a claim: every cause of a decision is a change in a cache."""

from mooring.controllers.snapshots.decide.claim import is_unfinished
from mooring.controllers.snapshots.informers import (
    BY_CLAIM,
    BY_CLASS,
    BY_CONTENT,
    BY_GROUP,
    BY_HANDLE,
    SnapshotInformers,
)
from mooring.controllers.snapshots.metrics import OF_SNAPSHOTS, Progress, SnapshotMetrics
from mooring.controllers.snapshots.names import content_names
from mooring.model.claim import Claim
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer
from mooring.reconcile.queue import KeyedQueue


class Queues:
    """Of snapshots, contents and claims."""

    def __init__(
        self,
        snapshots: KeyedQueue[Key],
        contents: KeyedQueue[Key],
        claims: KeyedQueue[Key],
    ) -> None:
        self.snapshots = snapshots
        self.contents = contents
        self.claims = claims


class EventHandlers:
    def __init__(
        self, informers: SnapshotInformers, queues: Queues, metrics: SnapshotMetrics
    ) -> None:
        self._known = informers
        self._queues = queues
        self._metrics = metrics

    def attach(self) -> None:
        known = self._known
        known.snapshots.on_change(self._on_snapshot)
        known.contents.on_change(self._on_content)
        known.classes.on_change(self._on_class)
        known.claims.on_change(self._on_claim)
        known.volumes.on_change(self._on_volume)
        known.groups.on_change(self._on_group)
        known.group_contents.on_change(self._on_group_content)

    def _on_snapshot(self, before: Snapshot | None, after: Snapshot | None) -> None:
        known = after or before
        if known is None:
            return
        if after is not None:
            self._queues.snapshots.add(after.key)
            self._metrics.saw(OF_SNAPSHOTS, after.uid, self._progress(after))
        else:
            self._metrics.gone(OF_SNAPSHOTS, known.uid, self._progress(known))
        if name := known.spec.source.persistent_volume_claim_name:
            self._wake_claim(Key(known.namespace, name))

    def _on_content(self, before: SnapshotContent | None, after: SnapshotContent | None) -> None:
        known = after or before
        if known is None:
            return
        if after is not None and (before is None or _is_changed(before, after)):
            self._queues.contents.add(after.key)
        self._queues.snapshots.add(known.spec.volume_snapshot_ref.key)
        for snapshot in self._known.snapshots.by_index(BY_CONTENT, known.name):
            self._queues.snapshots.add(snapshot.key)
        if known.snapshot_handle:
            self._wake_siblings(known)

    def _wake_siblings(self, content: SnapshotContent) -> None:
        """Another content of the same snapshot may wait for this one to go."""
        handle = (content.spec.driver, content.snapshot_handle)
        for other in self._known.contents.by_index(BY_HANDLE, handle):
            if other.uid != content.uid:
                self._queues.snapshots.add(other.spec.volume_snapshot_ref.key)

    def _on_class(self, before: SnapshotClass | None, after: SnapshotClass | None) -> None:
        names = {each.name for each in (before, after) if each is not None}
        if any(each.is_default for each in (before, after) if each is not None):
            names.add("")
        for name in names:
            for snapshot in self._known.snapshots.by_index(BY_CLASS, name):
                self._queues.snapshots.add(snapshot.key)

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        known = after or before
        if known is None:
            return
        if after is not None and Finalizer.CLAIM_AS_SOURCE in after.metadata.finalizers:
            self._queues.claims.add(after.key)
        for snapshot in self._known.snapshots.by_index(BY_CLAIM, known.key):
            if is_unfinished(snapshot, known.name):
                self._queues.snapshots.add(snapshot.key)
                self._queues.claims.add(known.key)
        for source in (known.spec.data_source_ref, known.spec.data_source):
            if source is not None and source.kind == Snapshot.resource.kind:
                self._wake_deleting(Key(source.namespace or known.namespace, source.name))

    def _wake_deleting(self, key: Key) -> None:
        snapshot = self._known.snapshots.get(key)
        if snapshot is not None and snapshot.is_deleting:
            self._queues.snapshots.add(key)

    def _wake_claim(self, key: Key) -> None:
        claim = self._known.claims.get(key)
        if claim is not None:
            self._queues.claims.add(key)

    def _on_volume(self, _before: Volume | None, after: Volume | None) -> None:
        if after is None or after.spec.claim_ref is None:
            return
        for snapshot in self._known.snapshots.by_index(BY_CLAIM, after.spec.claim_ref.key):
            if not snapshot.content_name:
                self._queues.snapshots.add(snapshot.key)

    def _on_group(self, before: GroupSnapshot | None, after: GroupSnapshot | None) -> None:
        """Members that people deleted wait for their group to go."""
        if before is not None and after is None:
            for snapshot in self._known.snapshots.by_index(
                BY_GROUP, (before.namespace, before.uid)
            ):
                self._queues.snapshots.add(snapshot.key)

    def _on_group_content(
        self, _before: GroupSnapshotContent | None, after: GroupSnapshotContent | None
    ) -> None:
        """Snapshots that the driver counts among a group wait to know its name."""
        status = None if after is None else after.status
        if after is None or status is None or status.volume_group_snapshot_handle is None:
            return
        group = after.spec.source.group_snapshot_handles
        for handle in () if group is None else group.volume_snapshot_handles:
            for content in self._known.contents.by_index(BY_HANDLE, (after.spec.driver, handle)):
                self._queues.snapshots.add(content.spec.volume_snapshot_ref.key)

    def _progress(self, snapshot: Snapshot) -> Progress:
        status = snapshot.status
        return Progress(
            self._driver_of(snapshot),
            snapshot.spec.source.volume_snapshot_content_name is not None,
            status is not None and status.creation_time is not None,
            snapshot.is_ready,
            snapshot.is_deleting,
        )

    def _driver_of(self, snapshot: Snapshot) -> str:
        for name in content_names(snapshot):
            content = self._known.contents.get(Key("", name))
            if content is not None:
                return content.spec.driver
        chosen = self._known.classes.get(Key("", snapshot.spec.volume_snapshot_class_name or ""))
        return "" if chosen is None else chosen.driver


def _is_changed(before: SnapshotContent, after: SnapshotContent) -> bool:
    is_unheld = Finalizer.SNAPSHOT_CONTENT not in after.metadata.finalizers
    return before.spec != after.spec or is_unheld
