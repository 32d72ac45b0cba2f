"""What is done about a snapshot content; whole stories are in tests/scenarios/sidecars."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from mooring.csi.capability import ControllerCapability, PluginService
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ObjectReference
from mooring.model.snapshot import (
    ContentSource,
    ContentSpec,
    ContentStatus,
    DeletionPolicy,
    SnapshotClass,
    SnapshotContent,
)
from mooring.model.wellknown import Annotation, Finalizer
from mooring.sidecars.driver import Abilities
from mooring.sidecars.snapshotter.decide.content import decide_content
from mooring.sidecars.snapshotter.options import SNAPSHOTTER_AS_UPSTREAM
from mooring.sidecars.snapshotter.plan import (
    Close,
    Create,
    CreateFails,
    Delete,
    DeleteFails,
    LookUp,
    MarkReady,
    Release,
)
from mooring.sidecars.snapshotter.request import SnapshotRequest, encode
from mooring.sidecars.snapshotter.view import ContentView

DRIVER, THEN = "d.example.com", "2026-01-02T03:04:05Z"
TAKES = ControllerCapability.CREATE_DELETE_SNAPSHOT
LISTS = ControllerCapability.LIST_SNAPSHOTS
CREATING = {Annotation.SNAPSHOT_BEING_CREATED: "yes"}
DELETING = {Annotation.SNAPSHOT_BEING_DELETED: "yes"}
MEMBER = {Annotation.GROUP_SNAPSHOT_HANDLE: "g-1"}
VOLUME, GIVEN = ContentSource(volume_handle="v-1"), ContentSource(snapshot_handle="s-1")
TAKEN, READY = ContentStatus("s-1", ready_to_use=False), ContentStatus("s-1", ready_to_use=True)
RETAIN = DeletionPolicy.RETAIN
RECORDED = {Annotation.SNAPSHOT_REQUEST: encode(SnapshotRequest("old-name", {"old": "yes"}))}
CLASS = SnapshotClass(
    metadata=ObjectMeta(name="daily"), driver=DRIVER, deletion_policy=DeletionPolicy.DELETE
)


def abilities(*capabilities: ControllerCapability) -> Abilities:
    return Abilities(frozenset({PluginService.CONTROLLER_SERVICE}), frozenset(capabilities))


def a_content(**changes: Any) -> SnapshotContent:
    notes = changes.get("notes", {})
    return SnapshotContent(
        metadata=ObjectMeta(
            name="content",
            uid="c1",
            annotations=notes,
            finalizers=changes.get("finalizers", (Finalizer.SNAPSHOT_CONTENT,)),
            deletion_timestamp=THEN if changes.get("deleting") else None,
        ),
        spec=ContentSpec(
            driver=changes.get("driver", DRIVER),
            deletion_policy=changes.get("policy", DeletionPolicy.DELETE),
            volume_snapshot_ref=ObjectReference(
                namespace="default", name="snap", uid=changes.get("uid", "u1")
            ),
            source=changes.get("source", VOLUME),
            volume_snapshot_class_name="daily",
        ),
        status=changes.get("status"),
    )


def view(content: SnapshotContent, *, lists: bool = True, **changes: Any) -> ContentView:
    able = abilities(TAKES, LISTS) if lists else abilities(TAKES)
    chosen = changes.pop("snapshot_class", CLASS)
    return ContentView(DRIVER, able, SNAPSHOTTER_AS_UPSTREAM, content, chosen, **changes)


TABLE: dict[str, tuple[ContentView, tuple[type, ...]]] = {
    "another's": (view(a_content(driver="other")), ()),
    "new": (view(a_content()), (Create,)),
    "new, without its class": (view(a_content(), snapshot_class=None), (CreateFails,)),
    "new, its snapshot has no uid": (view(a_content(uid="")), (CreateFails,)),
    "ready": (view(a_content(status=READY)), ()),
    "ready, and the record is left over": (view(a_content(status=READY, notes=CREATING)), (Close,)),
    "taken, not ready": (view(a_content(status=TAKEN)), (LookUp,)),
    "taken, the record is left over": (
        view(a_content(status=TAKEN, notes=CREATING)),
        (Close, LookUp),
    ),
    "taken, and cannot be looked up": (view(a_content(status=TAKEN), lists=False), (Create,)),
    "taken, and not listed": (view(a_content(status=TAKEN), is_unlisted=True), (Create,)),
    "given": (view(a_content(source=GIVEN)), (LookUp,)),
    "given, and cannot be looked up": (view(a_content(source=GIVEN), lists=False), (MarkReady,)),
    "member of a group that is not taken": (view(a_content(notes=MEMBER)), ()),
    "member, not ready": (view(a_content(notes=MEMBER, status=TAKEN)), (LookUp,)),
    "deleted by hand": (view(a_content(deleting=True, status=READY)), ()),
    "deleted by hand before it was taken": (view(a_content(deleting=True)), (Create,)),
    "its snapshot is deleted, it is not": (view(a_content(notes=DELETING, status=READY)), ()),
    "deleted": (view(a_content(deleting=True, notes=DELETING, status=READY)), (Delete,)),
    "deleted, never taken": (view(a_content(deleting=True, notes=DELETING)), (Release,)),
    "deleted, let go of": (
        view(a_content(deleting=True, notes=DELETING, status=READY, finalizers=())),
        (),
    ),
    "deleted, retained": (
        view(a_content(deleting=True, notes=DELETING, status=READY, policy=RETAIN)),
        (Release,),
    ),
    "deleted, member": (
        view(a_content(deleting=True, notes={**DELETING, **MEMBER}, status=READY)),
        (Release,),
    ),
    "deleted, given": (view(a_content(deleting=True, notes=DELETING, source=GIVEN)), (Delete,)),
    "deleted, given, never bound": (
        view(a_content(deleting=True, source=GIVEN, uid="")),
        (Delete,),
    ),
    "deleted while it may be being created": (
        view(a_content(deleting=True, notes={**DELETING, **CREATING})),
        (Create,),
    ),
    "the same, and its class is gone": (
        view(a_content(deleting=True, notes={**DELETING, **CREATING}), snapshot_class=None),
        (Create,),
    ),
    "the same, and retained": (
        view(a_content(deleting=True, notes={**DELETING, **CREATING}, policy=RETAIN)),
        (Create,),
    ),
    "deleted, taken, the record is left over": (
        view(a_content(deleting=True, notes={**DELETING, **CREATING}, status=TAKEN)),
        (Close,),
    ),
    "deleted, half a secret": (
        view(
            a_content(
                deleting=True,
                notes={**DELETING, Annotation.SNAPSHOT_SECRET_NAME: "key"},
                status=READY,
            )
        ),
        (DeleteFails,),
    ),
}


@pytest.mark.parametrize(("given", "then"), TABLE.values(), ids=TABLE)
def test_a_content(given: ContentView, then: tuple[type, ...]) -> None:
    assert tuple(map(type, decide_content(given).steps)) == then


def test_what_is_on_record_is_asked_for_again_whatever_the_class_says_by_now() -> None:
    other = SnapshotClass(
        metadata=ObjectMeta(name="daily"),
        driver=DRIVER,
        deletion_policy=DeletionPolicy.DELETE,
        parameters={"new": "yes"},
    )
    (create,) = decide_content(
        view(a_content(notes={**CREATING, **RECORDED}), snapshot_class=other)
    ).steps
    assert isinstance(create, Create)
    assert (create.request.name, create.request.parameters) == ("old-name", {"old": "yes"})
    assert create.record is None


def test_an_old_record_of_a_finished_creation_counts_for_nothing() -> None:
    (create,) = decide_content(view(a_content(notes=RECORDED))).steps
    assert isinstance(create, Create)
    assert create.request.name == "snapshot-u1"
    assert create.record == SnapshotRequest("snapshot-u1")


def _contents() -> Iterator[ContentView]:
    statuses = (None, TAKEN, READY)
    notes = (DELETING, CREATING, MEMBER, RECORDED)
    for source, status, policy, deleting, held, lists in product(
        (VOLUME, GIVEN), statuses, DeletionPolicy, (False, True), (False, True), (False, True)
    ):
        for chosen in product((False, True), repeat=len(notes)):
            told = {
                key: each[key] for each, on in zip(notes, chosen, strict=True) if on for key in each
            }
            content = a_content(
                source=source,
                status=status,
                policy=policy,
                deleting=deleting,
                notes=told,
                finalizers=(Finalizer.SNAPSHOT_CONTENT,) if held else (),
            )
            yield view(content, lists=lists)


def test_the_invariants_hold_for_every_content() -> None:
    for each in _contents():
        content, steps = each.content, decide_content(each).steps
        kinds = [type(step) for step in steps]
        if Delete in kinds:
            assert content.is_doomed
            assert not content.is_being_created
            assert not content.is_member
            assert content.spec.deletion_policy is DeletionPolicy.DELETE
            assert kinds == [Delete]
        if Create in kinds:
            assert kinds == [Create]
            assert not (content.is_static or content.is_member) or content.is_being_created
            create = steps[0]
            assert isinstance(create, Create)
            assert create.record is not None or content.is_being_created
        if content.is_ready and not content.is_deleting:
            assert set(kinds) <= {Close}
        if Release in kinds:
            assert content.is_doomed
            assert not content.is_being_created
