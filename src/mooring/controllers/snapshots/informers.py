"""The caches of the snapshot controller, with the indexes that its views and handlers use."""

from collections.abc import Hashable, Iterator
from typing import Any, Final, TypeVar

from mooring.controllers.snapshots.names import (
    content_names,
    find_group_owner,
    group_content_names,
)
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotClass, GroupSnapshotContent
from mooring.model.keys import Key
from mooring.model.may_destroy import handle_of
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.volume import Volume
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops

T = TypeVar("T", bound=ApiObject)

BY_CONTENT: Final = "snapshots: by the content that it may have"
BY_CLAIM: Final = "snapshots: by the claim that it is taken of"
BY_GROUP: Final = "snapshots: by the group that owns it"
BY_CLASS: Final = "snapshots: unbound, by class; an empty name for the default"
BY_HANDLE: Final = "snapshots: by driver and handle"
UNBOUND: Final = "snapshots: groups without a content, by namespace"
RESTORING: Final = "snapshots: by the snapshot that it waits for"


class SnapshotInformers:
    """Shared with the rest of the role, which runs them."""

    def __init__(self, loops: Loops, *, is_distributed: bool = False) -> None:
        self.nodes = loops.informer(Node) if is_distributed else None
        self.snapshots: Informer[Snapshot] = loops.informer(Snapshot)
        self.contents: Informer[SnapshotContent] = loops.informer(SnapshotContent)
        self.classes: Informer[SnapshotClass] = loops.informer(SnapshotClass)
        self.claims: Informer[Claim] = loops.informer(Claim)
        self.volumes: Informer[Volume] = loops.informer(Volume)
        self.groups: Informer[GroupSnapshot] = loops.informer(GroupSnapshot)
        self.group_contents: Informer[GroupSnapshotContent] = loops.informer(GroupSnapshotContent)
        self.group_classes: Informer[GroupSnapshotClass] = loops.informer(GroupSnapshotClass)
        self._by_kind: dict[type[ApiObject], Informer[Any]] = {
            Snapshot: self.snapshots,
            SnapshotContent: self.contents,
            Claim: self.claims,
            GroupSnapshot: self.groups,
            GroupSnapshotContent: self.group_contents,
        }

    @property
    def of_snapshots(self) -> tuple[Informer[Any], ...]:
        """What must be complete before a snapshot is decided about. Groups need not be served."""
        nodes = () if self.nodes is None else (self.nodes,)
        return (self.snapshots, self.contents, self.classes, self.claims, self.volumes, *nodes)

    @property
    def of_groups(self) -> tuple[Informer[Any], ...]:
        return (*self.of_snapshots, self.groups, self.group_contents, self.group_classes)

    def add_indexes(self) -> None:
        self.snapshots.add_index(BY_CONTENT, content_names)
        self.snapshots.add_index(BY_CLAIM, _claim_of)
        self.snapshots.add_index(BY_GROUP, _group_of)
        self.snapshots.add_index(BY_CLASS, _class_of)
        self.contents.add_index(BY_HANDLE, _handle_of_content)
        self.claims.add_index(RESTORING, restored_by)
        self.volumes.add_index(BY_HANDLE, _handle_of_volume)
        self.groups.add_index(BY_CONTENT, group_content_names)
        self.groups.add_index(BY_CLASS, _group_class_of)
        self.groups.add_index(UNBOUND, _namespace_of_unbound)
        self.group_contents.add_index(BY_HANDLE, _handle_of_group_content)

    def fold(self, written: ApiObject) -> None:
        informer = self._by_kind.get(type(written))
        if informer is not None:
            informer.fold(written)

    def find(self, known: T) -> T | None:
        """The object as it is in the cache; None: gone, or another one of its name."""
        held: T | None = self._by_kind[type(known)].get(known.key)
        return held if held is not None and held.uid == known.uid else None


def _claim_of(snapshot: Snapshot) -> Iterator[Hashable]:
    if name := snapshot.spec.source.persistent_volume_claim_name:
        yield Key(snapshot.namespace, name)


def _group_of(snapshot: Snapshot) -> Iterator[Hashable]:
    """With its namespace: nobody's snapshot belongs to a group elsewhere, whatever it says."""
    if (owner := find_group_owner(snapshot)) is not None:
        yield snapshot.namespace, owner.uid


def _class_of(snapshot: Snapshot) -> Iterator[Hashable]:
    if not snapshot.content_name:
        yield snapshot.spec.volume_snapshot_class_name or ""


def _group_class_of(group: GroupSnapshot) -> Iterator[Hashable]:
    if not group.content_name:
        yield group.spec.volume_group_snapshot_class_name or ""


def _namespace_of_unbound(group: GroupSnapshot) -> Iterator[Hashable]:
    if not group.content_name:
        yield group.namespace


def _handle_of_content(content: SnapshotContent) -> Iterator[Hashable]:
    if handle := content.snapshot_handle:
        yield (content.spec.driver, handle)


def _handle_of_group_content(content: GroupSnapshotContent) -> Iterator[Hashable]:
    if content.status is not None and content.status.volume_group_snapshot_handle:
        yield (content.spec.driver, content.status.volume_group_snapshot_handle)


def _handle_of_volume(volume: Volume) -> Iterator[Hashable]:
    handle = handle_of(volume)
    if handle is not None:
        yield handle


def restored_by(claim: Claim) -> Iterator[Hashable]:
    """Of claims that have no volume yet: what they are filled from.

    A claim elsewhere does not count, or it could keep others from deleting their snapshots. While
    one is really filled, the provisioner's finalizer holds the snapshot.
    """
    if claim.status.phase is not ClaimPhase.PENDING:
        return
    wanted = Snapshot.resource
    for source in (claim.spec.data_source_ref, claim.spec.data_source):
        if source is None or source.namespace not in {None, "", claim.namespace}:
            continue
        if (source.kind, source.api_group) == (wanted.kind, wanted.group):
            yield Key(claim.namespace, source.name)
