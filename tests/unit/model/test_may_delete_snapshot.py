"""What must still be so before a snapshot is deleted; a row for each thing that may not."""

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.model.group_snapshot import (
    GroupContentSource,
    GroupContentSpec,
    GroupHandles,
    GroupSnapshot,
    GroupSnapshotContent,
    GroupSnapshotSource,
    GroupSnapshotSpec,
)
from mooring.model.may_delete_snapshot import (
    GroupSnapshotOrder,
    SnapshotOrder,
    may_delete_group_snapshot,
    may_delete_snapshot,
)
from mooring.model.may_destroy import Go, Stay
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ObjectReference
from mooring.model.snapshot import (
    ContentSource,
    ContentSpec,
    ContentStatus,
    DeletionPolicy,
    Snapshot,
    SnapshotContent,
    SnapshotSource,
    SnapshotSpec,
)
from mooring.model.wellknown import Annotation, Finalizer

DRIVER, THEN = "d.example.com", "2026-01-02T03:04:05Z"
HELD, GROUP_HELD = Finalizer.SNAPSHOT_CONTENT, Finalizer.GROUP_SNAPSHOT_CONTENT
DELETED = {
    Annotation.SNAPSHOT_BEING_DELETED: "yes",
    Annotation.GROUP_SNAPSHOT_BEING_DELETED: "yes",
}
CREATED = {
    Annotation.SNAPSHOT_BEING_CREATED: "yes",
    Annotation.GROUP_SNAPSHOT_BEING_CREATED: "yes",
}
REF = ObjectReference(namespace="default", name="snap", uid="s1")


def meta(held: str, **changes: Any) -> ObjectMeta:
    return ObjectMeta(
        name=changes.get("name", "content"),
        uid=changes.get("uid", "c1"),
        annotations=changes.get("notes", DELETED),
        finalizers=changes.get("finalizers", (held,)),
        deletion_timestamp=changes.get("deleted", THEN),
    )


def a_content(**changes: Any) -> SnapshotContent:
    return SnapshotContent(
        metadata=meta(HELD, **changes),
        spec=ContentSpec(
            changes.get("driver", DRIVER),
            changes.get("policy", DeletionPolicy.DELETE),
            REF,
            ContentSource(volume_handle="v-1"),
        ),
        status=ContentStatus(
            changes.get("handle", "h-1"), volume_group_snapshot_handle=changes.get("group")
        ),
    )


def a_snapshot(uid: str = "s1", deleted: str | None = None, content: str = "") -> Snapshot:
    source = SnapshotSource(volume_snapshot_content_name=content or None)
    made = ObjectMeta(name="snap", namespace="default", uid=uid, deletion_timestamp=deleted)
    return Snapshot(metadata=made, spec=SnapshotSpec(source))


OTHER = a_content(name="other", uid="c2")
UNCHANGED = a_content()
ORDER = SnapshotOrder(UNCHANGED, "h-1", HELD)

STAYS: dict[str, tuple[SnapshotContent | None, Snapshot | None, list[SnapshotContent]]] = {
    "it is gone": (None, None, []),
    "another has its name": (a_content(uid="c9"), None, []),
    "it is not deleted": (a_content(deleted=None), None, []),
    "its snapshot was not marked": (a_content(notes={}), None, []),
    "it may be being created": (a_content(notes={**DELETED, **CREATED}), None, []),
    "it is retained": (a_content(policy=DeletionPolicy.RETAIN), None, []),
    "nobody holds it": (a_content(finalizers=()), None, []),
    "it joined a group": (a_content(group="g-1"), None, []),
    "another handle": (a_content(handle="h-2"), None, []),
    "another driver": (a_content(driver="e.example.com"), None, []),
    "its snapshot lives": (UNCHANGED, a_snapshot(), []),
    "another content keeps it": (UNCHANGED, None, [a_content(uid="c2", notes={}, deleted=None)]),
    "another content retains it": (
        UNCHANGED,
        None,
        [a_content(uid="c2", policy=DeletionPolicy.RETAIN)],
    ),
}
GOES = {
    "nothing changed": (None, []),
    "its snapshot is being deleted": (a_snapshot(deleted=THEN), []),
    "another snapshot has the name": (a_snapshot("s2"), []),
    "the other content is to go too": (None, [OTHER]),
    "the other content is of another snapshot": (None, [a_content(uid="c2", handle="h-2")]),
    "it is seen twice": (None, [UNCHANGED]),
}


@pytest.mark.parametrize(("live", "snapshot", "siblings"), STAYS.values(), ids=STAYS)
def test_a_snapshot_stays(
    live: SnapshotContent | None, snapshot: Snapshot | None, siblings: list[SnapshotContent]
) -> None:
    assert isinstance(may_delete_snapshot(ORDER, live, snapshot, siblings), Stay)


@pytest.mark.parametrize(("snapshot", "siblings"), GOES.values(), ids=GOES)
def test_a_snapshot_goes(snapshot: Snapshot | None, siblings: list[SnapshotContent]) -> None:
    assert isinstance(may_delete_snapshot(ORDER, UNCHANGED, snapshot, siblings), Go)


def test_a_static_content_that_nobody_bound_waits_for_the_snapshot_that_names_it() -> None:
    spec = replace(
        UNCHANGED.spec,
        volume_snapshot_ref=replace(REF, uid=""),
        source=ContentSource(snapshot_handle="h-1"),
    )
    static = replace(UNCHANGED, spec=spec, metadata=meta(HELD, notes={}))
    order = SnapshotOrder(static, "h-1", HELD)
    named = a_snapshot(content="content")
    assert isinstance(may_delete_snapshot(order, static, named, []), Stay)
    assert isinstance(may_delete_snapshot(order, static, a_snapshot(content="x"), []), Go)


def a_group(**changes: Any) -> GroupSnapshotContent:
    handles = GroupHandles(changes.get("handle", "g-1"), changes.get("members", ("h-1", "h-2")))
    return GroupSnapshotContent(
        metadata=meta(GROUP_HELD, **changes),
        spec=GroupContentSpec(
            DRIVER,
            changes.get("policy", DeletionPolicy.DELETE),
            REF,
            GroupContentSource(group_snapshot_handles=handles),
        ),
    )


GROUP = a_group()
GROUP_ORDER = GroupSnapshotOrder(GROUP, "g-1", ("h-1", "h-2"), GROUP_HELD)
LIVING = GroupSnapshot(
    metadata=ObjectMeta(name="snap", namespace="default", uid="s1"),
    spec=GroupSnapshotSpec(GroupSnapshotSource()),
)
GROUP_STAYS: dict[
    str, tuple[GroupSnapshotContent | None, GroupSnapshot | None, list[GroupSnapshotContent]]
] = {
    "it is gone": (None, None, []),
    "another has its name": (a_group(uid="c9"), None, []),
    "it is not deleted": (a_group(deleted=None), None, []),
    "its group was not marked": (a_group(notes={}), None, []),
    "it may be being created": (a_group(notes={**DELETED, **CREATED}), None, []),
    "it is retained": (a_group(policy=DeletionPolicy.RETAIN), None, []),
    "nobody holds it": (a_group(finalizers=()), None, []),
    "another handle": (a_group(handle="g-2"), None, []),
    "other members": (a_group(members=("h-1",)), None, []),
    "its group lives": (GROUP, LIVING, []),
    "another content keeps it": (GROUP, None, [a_group(uid="c2", deleted=None)]),
}


@pytest.mark.parametrize(("live", "group", "siblings"), GROUP_STAYS.values(), ids=GROUP_STAYS)
def test_a_group_stays(
    live: GroupSnapshotContent | None,
    group: GroupSnapshot | None,
    siblings: list[GroupSnapshotContent],
) -> None:
    assert isinstance(may_delete_group_snapshot(GROUP_ORDER, live, group, siblings), Stay)


def test_a_group_goes() -> None:
    twin = a_group(uid="c2")
    assert isinstance(may_delete_group_snapshot(GROUP_ORDER, GROUP, None, [GROUP, twin]), Go)
