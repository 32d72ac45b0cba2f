"""The decision tables of a group: its creation, its members, its deletion."""

from typing import Any

import pytest

from mooring.controllers.snapshots.groups.decide.group import decide_group, decide_group_content
from mooring.controllers.snapshots.groups.view import (
    FoundGroupContent,
    GroupClasses,
    GroupView,
    Member,
)
from mooring.controllers.snapshots.plan import DeleteMember
from mooring.controllers.snapshots.view import Evidence, Source
from mooring.model.group_snapshot import GroupSnapshotContent, MemberSnapshot
from mooring.model.keys import Key
from mooring.model.wellknown import Annotation, Finalizer
from tests.unit.controllers.snapshots.test_decide import told
from tests.unit.controllers.snapshots.things import (
    NOW,
    a_claim,
    a_group,
    a_group_class,
    a_group_content,
    a_snapshot,
    a_volume,
)

HELD = Finalizer.GROUP_SNAPSHOT_BOUND
BOUND = {"boundVolumeGroupSnapshotContentName": "groupsnapcontent-g", "readyToUse": False}
READY = BOUND | {"readyToUse": True}
SERVER = Evidence.SERVER
MARKED: dict[str, Any] = {"annotations": {Annotation.GROUP_SNAPSHOT_BEING_DELETED: "yes"}}
DELETING: dict[str, Any] = {"deletionTimestamp": NOW}
INFOS = [{"volumeHandle": each, "snapshotHandle": f"s-{each}"} for each in ("h1", "h2")]
ANSWERED = {"volumeGroupSnapshotHandle": "g-1", "volumeSnapshotInfoList": INFOS}


def a_view(group: Any = None, content: Any = None, **more: Any) -> GroupView:
    found = FoundGroupContent(content, more.pop("evidence", Evidence.CACHE))
    fields = {"classes": GroupClasses(a_group_class())} | more
    return GroupView(group or a_group(), NOW, found, **fields)


def a_member(handle: str, **made: Any) -> Member:
    return Member(MemberSnapshot(volume_handle=handle, snapshot_handle=f"s-{handle}"), **made)


FAILED = "VolumeGroupSnapshot/status error readyToUse"
OWNED = a_snapshot()
NEW = [
    "VolumeGroupSnapshot +volumegroupsnapshot-bound-protection",
    "create VolumeGroupSnapshotContent",
    "event CreatingGroupSnapshot",
    "VolumeGroupSnapshot/status boundVolumeGroupSnapshotContentName error readyToUse",
]

LIVING: dict[str, tuple[GroupView, list[str]]] = {
    "its claims are listed by the server": (a_view(), ["ask"]),
    "it is held before its content is made": (
        a_view(sources=(Source(a_claim(), a_volume()),)),
        NEW,
    ),
    "no claim": (a_view(sources=()), [FAILED, "event GroupSnapshotContentCreationFailed"]),
    "an unbound claim spoils it": (
        a_view(sources=(Source(a_claim(), a_volume()), Source(a_claim("Pending"), None))),
        [FAILED, "event GroupSnapshotContentCreationFailed"],
    ),
    "another driver spoils it": (
        a_view(sources=(Source(a_claim(), a_volume(driver="other")),)),
        [FAILED, "event CreateGroupSnapshotContentFailed"],
    ),
    "a class that is missing": (
        a_view(sources=(Source(a_claim(), a_volume()),), classes=GroupClasses()),
        [FAILED, "event GetGroupSnapshotClassFailed"],
    ),
    "a content that is gone is not made anew": (
        a_view(a_group(HELD, status=BOUND), evidence=SERVER, sources=()),
        [FAILED, "event GroupSnapshotContentMissing"],
    ),
    "the driver is at work": (a_view(a_group(HELD, status=BOUND), a_group_content()), []),
    "an answer for one volume of two": (
        a_view(
            a_group(HELD, status=BOUND),
            a_group_content(status=ANSWERED | {"volumeSnapshotInfoList": INFOS[:1]}),
        ),
        [FAILED, "event GroupSnapshotContentMismatch"],
    ),
    "ready, and no answer for any": (
        a_view(a_group(HELD, status=BOUND), a_group_content(status={"readyToUse": True})),
        [FAILED, "event GroupSnapshotContentMismatch"],
    ),
    "members' snapshots come first": (
        a_view(
            a_group(HELD, status=BOUND),
            a_group_content(status=ANSWERED | {"readyToUse": True}),
            members=(a_member("h1"), a_member("h2")),
        ),
        ["create VolumeSnapshot", "create VolumeSnapshot"],
    ),
    "a snapshot of a member's name that is no member": (
        a_view(
            a_group(HELD, status=BOUND),
            a_group_content(status=ANSWERED),
            members=(a_member("h1", snapshot=a_snapshot()), a_member("h2")),
        ),
        [FAILED, "event GroupSnapshotContentMisbound"],
    ),
    "ready": (a_view(a_group(HELD, status=READY), a_group_content()), []),
}


@pytest.mark.parametrize(("view", "then"), LIVING.values(), ids=LIVING)
def test_a_living_group(view: GroupView, then: list[str]) -> None:
    assert told(decide_group(view)) == then


GOING = a_group(HELD, deleting=True, status=READY)
MARK = "VolumeGroupSnapshotContent @volumegroupsnapshot-being-deleted"
LET_GO = "VolumeGroupSnapshot -volumegroupsnapshot-bound-protection"
MEMBER = DeleteMember.__name__

DELETED: dict[str, tuple[GroupView, list[str]]] = {
    "marked, deleted, then its members": (
        a_view(GOING, a_group_content(), owned=(OWNED,)),
        [MARK, "delete content", MEMBER],
    ),
    "it waits for its content": (a_view(GOING, a_group_content(**MARKED, **DELETING)), []),
    "retained": (
        a_view(GOING, a_group_content("Retain"), owned=(OWNED,)),
        [MARK, MEMBER, LET_GO],
    ),
    "a policy that nobody knows retains": (
        a_view(GOING, a_group_content("Sometimes")),
        [MARK, LET_GO],
    ),
    "a restore from a member holds it": (
        a_view(GOING, a_group_content(), owned=(OWNED,), restored=(Key("ns", "snap"),)),
        ["event SnapshotDeletePending"],
    ),
    "no content in the cache": (a_view(GOING), ["ask"]),
    "no content at all": (a_view(GOING, evidence=SERVER, owned=(OWNED,)), [MEMBER, LET_GO]),
    "nothing of ours holds it": (a_view(a_group("x", deleting=True), a_group_content()), []),
}


@pytest.mark.parametrize(("view", "then"), DELETED.values(), ids=DELETED)
def test_a_group_that_is_being_deleted(view: GroupView, then: list[str]) -> None:
    assert told(decide_group(view)) == then


CONTENTS: dict[str, tuple[GroupSnapshotContent, list[str]]] = {
    "with its finalizer": (a_group_content(), []),
    "without it": (
        a_group_content(finalizers=[]),
        ["VolumeGroupSnapshotContent +volumegroupsnapshotcontent-bound-protection"],
    ),
    "being deleted": (a_group_content(finalizers=[], **DELETING), []),
}


@pytest.mark.parametrize(("content", "then"), CONTENTS.values(), ids=CONTENTS)
def test_a_content(content: GroupSnapshotContent, then: list[str]) -> None:
    assert told(decide_group_content(content)) == then
