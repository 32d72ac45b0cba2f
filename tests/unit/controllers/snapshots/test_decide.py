"""The decision tables of a snapshot: what is done, and in which order."""

from typing import Any

import pytest

from mooring.controllers.snapshots.decide.claim import decide_claim
from mooring.controllers.snapshots.decide.content import decide_content
from mooring.controllers.snapshots.decide.snapshot import decide_snapshot
from mooring.controllers.snapshots.plan import (
    AskServer,
    Change,
    ChangeStatus,
    Create,
    DeleteContent,
    Plan,
)
from mooring.controllers.snapshots.view import (
    ClaimView,
    Classes,
    ContentMode,
    Evidence,
    FoundContent,
    SnapshotView,
    Source,
    Uses,
)
from mooring.model.keys import Key
from mooring.model.snapshot import SnapshotContent
from mooring.model.steps import Emit
from mooring.model.wellknown import Annotation, Finalizer
from tests.unit.controllers.snapshots.things import (
    NOW,
    a_claim,
    a_class,
    a_content,
    a_group,
    a_snapshot,
    a_volume,
)

HELD = (Finalizer.SNAPSHOT_AS_SOURCE, Finalizer.SNAPSHOT_BOUND)
BOUND = {"boundVolumeSnapshotContentName": "snapcontent-u", "readyToUse": False}
READY = {"boundVolumeSnapshotContentName": "snapcontent-u", "readyToUse": True}
SOURCE = Source(a_claim(), a_volume())
CLASSES = Classes(a_class())
SERVER = Evidence.SERVER
MARKED: dict[str, Any] = {"annotations": {Annotation.SNAPSHOT_BEING_DELETED: "yes"}}
DELETING: dict[str, Any] = {"deletionTimestamp": NOW}


def a_view(snapshot: Any = None, content: Any = None, **more: Any) -> SnapshotView:
    evidence = more.pop("evidence", Evidence.CACHE)
    siblings = more.pop("siblings", ())
    found = FoundContent(content, evidence, siblings)
    fields = {"source": SOURCE, "classes": CLASSES} | more
    return SnapshotView(snapshot or a_snapshot(), NOW, found, **fields)


def told(plan: Plan) -> list[str]:
    """The steps in words: kind and subject, and what of it changes."""
    return [_told(step) for step in plan.steps]


def _told(step: Any) -> str:
    match step:
        case Change(of):
            parts = [f"+{name.rpartition('/')[2]}" for name in step.adds]
            parts += [f"-{name.rpartition('/')[2]}" for name in step.removes]
            parts += [f"@{key.rpartition('/')[2]}" for key in step.annotations]
            parts += [f"spec.{key}" for key in step.spec]
            return " ".join([of.resource.kind, *parts])
        case ChangeStatus(of, status):
            return " ".join([f"{of.resource.kind}/status", *sorted(status)])
        case Create(kind):
            return f"create {kind.resource.kind}"
        case DeleteContent():
            return "delete content"
        case AskServer():
            return "ask"
        case Emit():
            return f"event {step.reason}"
        case _:
            return type(step).__name__


AS_SOURCE, ITS_BOUND = "volumesnapshot-as-source-protection", "volumesnapshot-bound-protection"
CREATED = [
    f"VolumeSnapshot +{AS_SOURCE} +{ITS_BOUND}",
    "PersistentVolumeClaim +pvc-as-source-protection",
    "create VolumeSnapshotContent",
    "event CreatingSnapshot",
    "VolumeSnapshot/status boundVolumeSnapshotContentName error readyToUse",
]
FAILED = "VolumeSnapshot/status error readyToUse"
LET_GO = f"VolumeSnapshot -{AS_SOURCE} -{ITS_BOUND}"

LIVING: dict[str, tuple[SnapshotView, list[str]]] = {
    "everything is held before the content is made": (a_view(), CREATED),
    "what is held already is not written": (
        a_view(
            a_snapshot(*HELD),
            source=Source(a_claim(finalizers=[Finalizer.CLAIM_AS_SOURCE]), a_volume()),
        ),
        CREATED[2:],
    ),
    "a class that is missing": (
        a_view(classes=Classes()),
        [FAILED, "event GetSnapshotClassFailed"],
    ),
    "a class of another driver": (
        a_view(classes=Classes(a_class(driver="other"))),
        [FAILED, "event SnapshotContentCreationFailed"],
    ),
    "a claim that is missing": (
        a_view(source=Source()),
        [FAILED, "event SnapshotContentCreationFailed"],
    ),
    "a claim that is not bound": (
        a_view(source=Source(a_claim("Pending"), None)),
        [FAILED, "event SnapshotContentCreationFailed"],
    ),
    "a volume that is another claim's": (
        a_view(source=Source(a_claim(), a_volume("other"))),
        [FAILED, "event SnapshotContentCreationFailed"],
    ),
    "a volume without a driver": (
        a_view(source=Source(a_claim(), a_volume(hostPath={"path": "/x"}))),
        [FAILED, "event SnapshotContentCreationFailed"],
    ),
    "the same error is not told twice": (
        a_view(
            a_snapshot(
                status={
                    "error": {
                        "message": "Failed to create snapshot content with error"
                        " the PVC data is not yet bound to a PV,"
                        " will not attempt to take a snapshot"
                    }
                }
            ),
            source=Source(a_claim("Pending"), None),
        ),
        [],
    ),
    "both sources": (
        a_view(
            a_snapshot(persistentVolumeClaimName="data", volumeSnapshotContentName="content"),
        ),
        [FAILED, "event SnapshotValidationError"],
    ),
    "the content of a crashed pass is found": (
        a_view(a_snapshot(*HELD), a_content()),
        ["VolumeSnapshot/status boundVolumeSnapshotContentName readyToUse"],
    ),
    "nothing is new": (a_view(a_snapshot(*HELD, status=BOUND), a_content()), []),
    "a bound content that is not in the cache is asked for": (
        a_view(a_snapshot(*HELD, status=BOUND)),
        ["ask"],
    ),
    "a bound content that is gone is not made anew": (
        a_view(a_snapshot(*HELD, status=BOUND), evidence=SERVER),
        [FAILED, "event SnapshotContentMissing"],
    ),
    "a content of the name that belongs to another": (
        a_view(a_snapshot(*HELD), a_content("other")),
        [FAILED, "event SnapshotContentMisbound"],
    ),
    "ready": (a_view(a_snapshot(*HELD, status=READY), a_content()), []),
    "ready, and the class is gone": (
        a_view(a_snapshot(*HELD, status=READY), a_content(), classes=Classes()),
        [],
    ),
    "ready, and a group counts it among its own": (
        a_view(a_snapshot(*HELD, status=READY), a_content(), uses=Uses(joined=a_group())),
        [
            "VolumeSnapshot +volumesnapshot-in-group-protection",
            "VolumeSnapshot/status volumeGroupSnapshotName",
        ],
    ),
    "ready, and the content points elsewhere": (
        a_view(a_snapshot(*HELD, status=READY), a_content("other")),
        [FAILED, "event SnapshotMisbound"],
    ),
}


@pytest.mark.parametrize(("view", "then"), LIVING.values(), ids=LIVING)
def test_a_living_snapshot(view: SnapshotView, then: list[str]) -> None:
    assert told(decide_snapshot(view)) == then


GOING = a_snapshot(*HELD, deleting=True, status=READY)
MARK = "VolumeSnapshotContent @volumesnapshot-being-deleted"
KEEPER = a_content("x", "Retain", uid="other-uid")
CONDEMNED = a_content("x", "Delete", uid="other-uid", **DELETING)
PENDING = "event SnapshotDeletePending"

DELETED: dict[str, tuple[SnapshotView, list[str]]] = {
    "nothing of ours holds it": (a_view(a_snapshot("x", deleting=True), a_content()), []),
    "the content is marked, then deleted": (a_view(GOING, a_content()), [MARK, "delete content"]),
    "the mark is not written twice": (a_view(GOING, a_content(**MARKED)), ["delete content"]),
    "a content that is going is only marked": (a_view(GOING, a_content(**DELETING)), [MARK]),
    "it waits for a content that is going": (a_view(GOING, a_content(**MARKED, **DELETING)), []),
    "a content without its finalizer gets it first": (
        a_view(GOING, a_content(finalizers=[])),
        [
            "VolumeSnapshotContent +volumesnapshotcontent-bound-protection"
            " @volumesnapshot-being-deleted",
            "delete content",
        ],
    ),
    "retained: marked, and the snapshot goes": (
        a_view(GOING, a_content(policy="Retain")),
        [MARK, LET_GO],
    ),
    "a policy that nobody knows retains": (
        a_view(GOING, a_content(policy="Sometimes")),
        [MARK, LET_GO],
    ),
    "no content in the cache": (a_view(GOING), ["ask"]),
    "no content at all": (a_view(GOING, evidence=SERVER), [LET_GO]),
    "a content of another is not touched": (
        a_view(GOING, a_content("other"), evidence=SERVER),
        [LET_GO],
    ),
    "a claim is being restored": (
        a_view(GOING, a_content(), uses=Uses(restoring=(Key("ns", "copy"),))),
        [PENDING],
    ),
    "a provisioner is at work": (
        a_view(a_snapshot(*HELD, Finalizer.RESTORE_SOURCE, deleting=True), a_content()),
        [PENDING],
    ),
    "its group lives": (a_view(GOING, a_content(), uses=Uses(group=a_group())), [PENDING]),
    "another content keeps the snapshot": (
        a_view(GOING, a_content(), siblings=(KEEPER,)),
        [PENDING],
    ),
    "another content that goes too keeps nothing": (
        a_view(GOING, a_content(), siblings=(CONDEMNED,)),
        [MARK, "delete content"],
    ),
}


@pytest.mark.parametrize(("view", "then"), DELETED.values(), ids=DELETED)
def test_a_snapshot_that_is_being_deleted(view: SnapshotView, then: list[str]) -> None:
    assert told(decide_snapshot(view)) == then


HOLDING = a_claim(finalizers=[Finalizer.CLAIM_AS_SOURCE])
HOLDING_GOING = a_claim(finalizers=[Finalizer.CLAIM_AS_SOURCE], **DELETING)
LOSE = ["PersistentVolumeClaim -pvc-as-source-protection"]

CLAIMS: dict[str, tuple[ClaimView, list[str]]] = {
    "held while a snapshot is unfinished": (
        ClaimView(HOLDING, (a_snapshot(status=BOUND),), Evidence.CACHE),
        [],
    ),
    "held while an unfinished snapshot goes": (
        ClaimView(HOLDING, (a_snapshot(*HELD, deleting=True, status=BOUND),), Evidence.CACHE),
        [],
    ),
    "let go when all are ready": (
        ClaimView(HOLDING, (a_snapshot(status=READY),), Evidence.CACHE),
        LOSE,
    ),
    "a claim that is being deleted is let go by the server's word": (
        ClaimView(HOLDING_GOING, (), Evidence.CACHE),
        ["ask"],
    ),
    "and by nothing else": (ClaimView(HOLDING_GOING, (), Evidence.SERVER), LOSE),
    "an unfinished snapshot gets it back": (
        ClaimView(a_claim(), (a_snapshot(status=BOUND),), Evidence.CACHE),
        ["PersistentVolumeClaim +pvc-as-source-protection"],
    ),
    "a snapshot that was never begun does not": (
        ClaimView(a_claim(), (a_snapshot(),), Evidence.CACHE),
        [],
    ),
}


@pytest.mark.parametrize(("view", "then"), CLAIMS.values(), ids=CLAIMS)
def test_the_claim_of_a_snapshot(view: ClaimView, then: list[str]) -> None:
    assert told(decide_claim(view)) == then


CONTENTS: dict[str, tuple[SnapshotContent, list[str]]] = {
    "bound, with its finalizer": (a_content(), []),
    "bound, without it": (
        a_content(finalizers=[]),
        ["VolumeSnapshotContent +volumesnapshotcontent-bound-protection"],
    ),
    "not bound yet": (a_content("", finalizers=[]), []),
    "being deleted": (a_content(finalizers=[], **DELETING), []),
    "an empty handle": (a_content(source={"snapshotHandle": ""}), ["event ContentValidationError"]),
    "no handle": (a_content(source={}), ["event ContentValidationError"]),
}


@pytest.mark.parametrize(("content", "then"), CONTENTS.values(), ids=CONTENTS)
def test_a_content(content: SnapshotContent, then: list[str]) -> None:
    assert told(decide_content(content)) == then


def test_an_in_tree_volume_is_known_by_its_drivers_handle() -> None:
    driver = "pd.csi.storage.gke.io"
    volume = a_volume(gcePersistentDisk={"pdName": "d"})
    classes = Classes(a_class(driver=driver))
    view = a_view(a_snapshot(*HELD), source=Source(a_claim(), volume), classes=classes)
    made = str(decide_snapshot(view).steps)
    assert "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d" in made
    assert driver in made


def test_the_mode_of_the_volume_is_recorded_unless_that_is_switched_off() -> None:
    for mode, recorded in ((ContentMode.RECORDED, True), (ContentMode.FORGOTTEN, False)):
        steps = decide_snapshot(a_view(mode=mode)).steps
        (create,) = (step for step in steps if isinstance(step, Create))
        assert ("sourceVolumeMode" in create.doc["spec"]) is recorded
