"""One look at a volume, and what becomes of one that its claim has left."""

from typing import NamedTuple

import pytest
from msgspec.structs import replace

from mooring.controllers.binding.decide.reclaim import (
    Deleter,
    External,
    InTree,
    Nobody,
    fail,
    find_deleter,
    find_recycler,
    is_released,
)
from mooring.controllers.binding.decide.volume import needs_second_look
from mooring.controllers.binding.plan import Delete, Reason, Recycle, Step
from mooring.controllers.binding.view import Plugins
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.storage_terms import ReclaimPolicy, VolumeMode
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation, Finalizer, Plugin
from tests.unit.controllers.binding.things import (
    BBC,
    CSI,
    DONE,
    HOST_PATH,
    NFS,
    C,
    a_claim,
    a_volume,
    by,
    ref,
)
from tests.unit.controllers.binding.world import tell_volume, world

DELETE, RETAIN, RECYCLE = ReclaimPolicy.DELETE, ReclaimPolicy.RETAIN, ReclaimPolicy.RECYCLE
BOUND, RELEASED, FAILED = VolumePhase.BOUND, VolumePhase.RELEASED, VolumePhase.FAILED
DELETION, RECYCLING = Delete("pv", "uid-of-pv"), Recycle("pv", "uid-of-pv")
HOST = Plugin.HOST_PATH
UNKNOWN = "Volume has unrecognized PersistentVolumeReclaimPolicy"


class Row(NamedTuple):
    volume: Volume
    claim: Claim | None
    then: str
    started: tuple[Step, ...] = ()
    events: tuple[tuple[str, str, str], ...] = ()


def bound(**more: object) -> Volume:
    return a_volume(**{"phase": BOUND, "claim_ref": ref("c", "u"), **more})  # type: ignore[arg-type] # a builder's keywords


def misbound(claim: str) -> tuple[str, str, str]:
    message = f'Claim "{claim}" is bound to this volume, but spec.claimRef does not name it'
    return ("Warning", "ClaimMisbound", message)


ELSEWHERE = a_claim(volume="other", annotations=DONE, phase=ClaimPhase.BOUND, has="1Gi")
HERE = a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.BOUND, has="1Gi")
NEWER = a_claim(uid="newer")

TABLE: dict[str, Row] = {
    "a new volume becomes available": Row(a_volume(phase=VolumePhase.PENDING), None, "Available"),
    "reserved by name, of the wrong volume mode": Row(
        a_volume(volume_mode=VolumeMode.BLOCK, claim_ref=ref("c"), phase=VolumePhase.PENDING),
        a_claim(),
        "Available ref=c/-",
    ),
    "released, and an admin took its claim away": Row(a_volume(phase=RELEASED), None, "Available"),
    "bound, and an admin took only the uid away": Row(
        a_volume(phase=BOUND, claim_ref=ref("c")), None, "Available ref=c/-"
    ),
    "its claim is gone, it is to be kept": Row(bound(), None, "Released ref=c/u"),
    "another claim has the name of its claim": Row(bound(), NEWER, "Released ref=c/u"),
    "its claim has another uid now, and was bound to it: kept as it is": Row(
        bound(reclaim_policy=DELETE),
        a_claim(uid="newer", volume="pv", annotations=DONE),
        "Bound ref=c/u",
        (),
        (misbound("ns/c"),),
    ),
    "its claim is gone, and another was bound to it: kept as it is": Row(
        bound(reclaim_policy=DELETE, claim_ref=ref("ghost", "u")),
        HERE,
        "Bound ref=ghost/u",
        (),
        (misbound("ns/c"),),
    ),
    "its claim is gone, another was bound to it, and it is to be kept: released": Row(
        bound(claim_ref=ref("ghost", "u")), HERE, "Released ref=ghost/u"
    ),
    "its claim is gone, and another that was never bound asks for it: released": Row(
        bound(reclaim_policy=DELETE, claim_ref=ref("ghost", "u")),
        a_claim(volume="pv"),
        "Released ref=ghost/u",
        (DELETION,),
    ),
    "its claim is gone, and one of another namespace was bound to it: released": Row(
        bound(reclaim_policy=DELETE, claim_ref=replace(ref("ghost", "u"), namespace="other")),
        HERE,
        "Released ref=ghost/u",
        (DELETION,),
    ),
    "its claim has yet to point back": Row(
        a_volume(claim_ref=ref("c", "u")), a_claim(), "Available ref=c/u"
    ),
    "its claim points back, and its policy is Delete": Row(
        a_volume(claim_ref=ref("c", "u"), reclaim_policy=DELETE), HERE, "Bound ref=c/u"
    ),
    "its claim has another volume, and we chose the claim": Row(
        bound(annotations=BBC), ELSEWHERE, "Available"
    ),
    "its claim has another volume, and a user reserved this one": Row(
        bound(), ELSEWHERE, "Available ref=c/-"
    ),
    "its claim has another volume, and this was made in-tree for it": Row(
        bound(annotations=by(HOST), reclaim_policy=DELETE),
        ELSEWHERE,
        "Released ref=c/u",
        (DELETION,),
    ),
    "its claim has another volume, and this was made in-tree and is to be kept": Row(
        bound(annotations=by(HOST)), ELSEWHERE, "Available ref=c/-"
    ),
    "its claim is gone, it is to be deleted": Row(
        bound(reclaim_policy=DELETE), None, "Released ref=c/u", (DELETION,)
    ),
    "its claim is gone, it is to be deleted, and failed before": Row(
        bound(phase=FAILED, reclaim_policy=DELETE), None, "Failed ref=c/u", (DELETION,)
    ),
    "its claim is gone, and a CSI driver has taken it over": Row(
        bound(annotations=by(Plugin.GCE_PD), reclaim_policy=DELETE), None, "Released ref=c/u"
    ),
    "its claim is gone, its policy is unknown": Row(
        bound(reclaim_policy="Burn"),
        None,
        "Failed ref=c/u",
        events=(("Warning", "VolumeUnknownReclaimPolicy", UNKNOWN),),
    ),
    "its claim is gone, its policy is unknown, as was told before": Row(
        bound(phase=FAILED, message=UNKNOWN, reclaim_policy="Burn"), None, "Failed ref=c/u"
    ),
    "its claim is gone, it is to be recycled": Row(
        bound(reclaim_policy=RECYCLE), None, "Released ref=c/u", (RECYCLING,)
    ),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_one_look(row: Row) -> None:
    made = world(row.volume, *((row.claim,) if row.claim else ()))
    made.pass_volume("pv")
    assert tell_volume(made.volumes["pv"]) == row.then
    assert tuple(made.started) == row.started
    assert tuple(made.events) == row.events
    if row.claim is not None:
        assert made.claims[C] is row.claim


def test_a_volume_of_the_wrong_mode_is_told_on_both_sides_and_wakes_nobody() -> None:
    made = world(a_volume(claim_ref=ref("c", "u")), a_claim(volume_mode=VolumeMode.BLOCK))
    made.pass_volume("pv")
    due = "due to incompatible volumeMode."
    assert made.events == [
        (
            "Warning",
            "VolumeMismatch",
            f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" {due}',
        ),
        (
            "Warning",
            "VolumeMismatch",
            f'Cannot bind PersistentVolume "pv" to requested PersistentVolumeClaim {due}',
        ),
    ]
    assert made.woken == []


def test_the_claim_of_a_volume_is_woken_to_point_back() -> None:
    made = world(a_volume(claim_ref=ref("c", "u")), a_claim())
    made.pass_volume("pv")
    assert made.woken == [C]


SECOND_LOOK = {
    "the claim is not in the cache": (bound(), None, True),
    "the claim is not in the cache, and the volume was released before": (
        bound(phase=RELEASED),
        None,
        False,
    ),
    "the claim is not in the cache, and the volume failed before": (
        bound(phase=FAILED),
        None,
        False,
    ),
    "the cache has a claim with another uid": (bound(), NEWER, True),
    "the cache has a claim with another uid, and the volume was released before": (
        bound(phase=RELEASED),
        NEWER,
        True,
    ),
    "the cache has the claim": (bound(), HERE, False),
    "reserved by name": (a_volume(claim_ref=ref("c")), None, False),
    "nobody's": (a_volume(), None, False),
}


@pytest.mark.parametrize(("volume", "cached", "asks"), SECOND_LOOK.values(), ids=SECOND_LOOK)
def test_the_api_is_asked_before_a_volume_is_released(
    *, volume: Volume, cached: Claim | None, asks: bool
) -> None:
    assert needs_second_look(volume, cached) is asks


DELETERS: dict[str, tuple[Volume, Deleter]] = {
    "made by a plugin of ours": (a_volume(annotations=by(HOST)), InTree(HOST)),
    "made by hand, of a source we can delete": (a_volume(host_path=HOST_PATH), InTree(HOST)),
    "made by hand, of a source nobody deletes": (
        a_volume(),
        Nobody('error getting deleter volume plugin for volume "pv": no volume plugin matched'),
    ),
    "made by hand, of a source we know and cannot delete": (
        a_volume(nfs=NFS),
        Nobody(
            'error getting deleter volume plugin for volume "pv": '
            "no deletable volume plugin matched"
        ),
    ),
    "made by an in-tree plugin that is gone": (
        a_volume(annotations=by("kubernetes.io/rbd")),
        Nobody("no volume plugin matched name: kubernetes.io/rbd"),
    ),
    "made by an external provisioner": (
        a_volume(annotations=by("external.io/x"), host_path=HOST_PATH),
        External(),
    ),
    "made by hand, of a CSI driver": (a_volume(csi=CSI), External()),
    "taken over by a CSI driver": (
        a_volume(annotations={Annotation.MIGRATED_TO: "d"}, host_path=HOST_PATH),
        External(),
    ),
}


@pytest.mark.parametrize(("volume", "deleter"), DELETERS.values(), ids=DELETERS)
def test_who_deletes(volume: Volume, deleter: Deleter) -> None:
    assert find_deleter(volume, Plugins()) == deleter


@pytest.mark.parametrize(
    ("volume", "plugin"),
    [
        pytest.param(a_volume(nfs=NFS), Plugin.NFS, id="nfs"),
        pytest.param(a_volume(host_path=HOST_PATH), HOST, id="hostPath"),
        pytest.param(a_volume(csi=CSI), None, id="csi: nobody"),
    ],
)
def test_who_recycles(volume: Volume, plugin: str | None) -> None:
    assert find_recycler(volume, Plugins()) == plugin


LEFT = {
    "its claim was restored": (bound(phase=RELEASED), HERE, False),
    "an admin took its claim away": (a_volume(phase=RELEASED), None, False),
    "an admin took the uid away": (a_volume(claim_ref=ref("c")), None, False),
    "its claim is gone": (bound(phase=RELEASED), None, True),
    "another claim has that name": (bound(phase=RELEASED), NEWER, True),
    "its claim has another volume": (bound(phase=RELEASED), ELSEWHERE, True),
    "its claim has yet to point back": (bound(), a_claim(), False),
}


@pytest.mark.parametrize(("volume", "claim", "left"), LEFT.values(), ids=LEFT)
def test_whether_its_claim_has_left_it(*, volume: Volume, claim: Claim | None, left: bool) -> None:
    assert is_released(volume, claim) is left


def test_a_failure_is_told_once_and_a_new_text_replaces_the_old() -> None:
    first = world(bound(phase=RELEASED))
    volume = first.volumes["pv"]
    first.apply(fail(volume, volume, Reason.VOLUME_FAILED_DELETE, "on fire"))
    failed = first.volumes["pv"]
    first.apply(fail(failed, failed, Reason.VOLUME_FAILED_DELETE, "under water"))
    assert first.volumes["pv"].status.message == "under water"
    assert first.events == [("Warning", "VolumeFailedDelete", "on fire")]


OURS, THEIRS = Finalizer.IN_TREE_PROVISIONER, Finalizer.EXTERNAL_PROVISIONER
FINALIZERS = {
    "made in-tree, to be deleted": (by(HOST), DELETE, ("x",), ("x", OURS)),
    "made in-tree, to be deleted, and marked so": (by(HOST), DELETE, (OURS, "x"), (OURS, "x")),
    "made in-tree, now to be kept": (by(HOST), RETAIN, ("x", OURS, "y"), ("x", "y")),
    "made in-tree, now to be recycled": (by(HOST), RECYCLE, (OURS,), ()),
    "made in-tree, once served by a CSI driver": (by(HOST), RETAIN, ("x", THEIRS), ("x",)),
    "taken over by a CSI driver": (by(Plugin.GCE_PD), DELETE, ("x", OURS, THEIRS), ("x", THEIRS)),
    "made in-tree, with a policy nobody knows": (
        by(HOST),
        ReclaimPolicy("Compost"),
        ("x", OURS, THEIRS),
        ("x", OURS, THEIRS),
    ),
    "made outside": (by("external.io/x"), DELETE, ("x", THEIRS), ("x", THEIRS)),
    "made by hand": ({}, DELETE, ("x",), ("x",)),
}


@pytest.mark.parametrize(("marks", "policy", "has", "gets"), FINALIZERS.values(), ids=FINALIZERS)
def test_finalizers(
    marks: dict[str, str], policy: ReclaimPolicy, has: tuple[str, ...], gets: tuple[str, ...]
) -> None:
    made = world(a_volume(annotations=marks, reclaim_policy=policy, finalizers=has))
    made.pass_volume("pv")
    assert made.volumes["pv"].metadata.finalizers == gets


def test_a_volume_of_a_plugin_that_a_driver_has_taken_over_says_so() -> None:
    made = world(a_volume(annotations=by(Plugin.GCE_PD)))
    made.pass_volume("pv")
    assert made.volumes["pv"].migrated_to == "pd.csi.storage.gke.io"


@pytest.mark.parametrize(
    ("provisioner", "mark"),
    [
        pytest.param(Plugin.GCE_PD, "pd.csi.storage.gke.io", id="taken over: marked"),
        pytest.param("pd.csi.storage.gke.io", None, id="the driver itself: the mark goes"),
    ],
)
def test_a_claim_says_whether_its_provisioner_was_taken_over(
    provisioner: str, mark: str | None
) -> None:
    annotations = {Annotation.PROVISIONER: provisioner}
    if mark is None:
        annotations[Annotation.MIGRATED_TO] = "pd.csi.storage.gke.io"
    made = world(a_claim(annotations=annotations))
    made.pass_claim(C)
    assert made.claims[C].metadata.annotations.get(Annotation.MIGRATED_TO) == mark


def test_of_two_volumes_for_one_claim_the_superfluous_one_goes() -> None:
    first = bound(name="first", annotations=BBC)
    claim = replace(HERE, spec=replace(HERE.spec, volume_name="first"))
    outside = by("external.io/x")
    second = {
        "static": bound(name="second", annotations=BBC),
        "in-tree": bound(name="second", annotations=by(HOST), reclaim_policy=DELETE),
        "external": bound(name="second", annotations=outside, reclaim_policy=DELETE),
    }
    ends: dict[str, str | None] = {}
    for origin, volume in second.items():
        made = world(first, volume, claim)
        made.settle()
        left = made.volumes.get("second")
        ends[origin] = tell_volume(left) if left is not None else None
    assert ends == {"static": "Available", "in-tree": None, "external": "Released ref=c/u"}
