"""Volumes that a node can reach, and what is chosen for claims that waited."""

from typing import Any

import pytest

from mooring.model.claim import Claim
from mooring.model.pod import Pod
from mooring.model.wellknown import Annotation
from mooring.scheduling.decide.binding import RULE, VolumeCheck
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.plan import PodVolumes, Trouble
from mooring.scheduling.view import NodeView
from tests.unit.scheduling.decide.asking_rules import FINE, reasons
from tests.unit.scheduling.things import (
    DRIVER,
    HOSTNAME,
    Doc,
    Stored,
    Thing,
    a_bound_claim,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_room,
    a_volume,
    on,
    picture_of,
    pointing_at,
    view_of,
)

AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
ON_N2 = f'{AFFINITY} (volume "disk" is only on node "n2")'
NOTHING = "node(s) didn't find available persistent volumes to bind"
NO_ROOM = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

BY_HAND = a_class(provisioner="kubernetes.io/no-provisioner")
MADE = a_class()
MINE = a_pod("web", "data")


def waiting(name: str = "data", storage: str = "1Gi", **more: Any) -> Claim:
    return a_claim(name, storage, "local", **more)


def chosen(*things: Thing, pod: Pod = MINE, node: NodeView | None = None) -> str:
    """What becomes of the claims: `claim=volume`, or `claim=?` for one that is to be made."""
    node = node or view_of()
    check = RULE.look_at(picture_of(pod, node, storage=Stored(*things)))
    assert isinstance(check, VolumeCheck), check
    found = check.choose(node)
    if not isinstance(found, PodVolumes):
        return " + ".join(found.reasons)
    words = [f"{each.claim.name}={each.volume.name}" for each in found.reservations]
    return " ".join(words + [f"{claim.name}=?" for claim in found.provisions])


def on_node(name: str) -> dict[str, str]:
    return {Annotation.SELECTED_NODE: name}


def topology(*values: str) -> Doc:
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": list(values)}]}]
    return {"allowedTopologies": terms}


BOUND: dict[str, tuple[tuple[Thing, ...], str]] = {
    "a volume that does not mind": ((a_bound_claim(), a_volume()), ""),
    "a volume of this node": ((a_bound_claim(), a_volume(node="n1")), ""),
    "a volume of another node": (
        (a_bound_claim(), a_volume(node="n2")),
        f'{AFFINITY} (volume "disk" is only on node "n2")',
    ),
    "no volume at all": ((a_bound_claim(),), NO_VOLUME),
}
STATIC: dict[str, tuple[tuple[Thing, ...], str]] = {
    "the only one": ((waiting(), a_volume(), BY_HAND), "data=disk"),
    "none": ((waiting(), BY_HAND), NOTHING),
    "the smallest that fits": (
        (waiting(), a_volume("a", "3Gi"), a_volume("b", "2Gi"), a_volume("c", "512Mi"), BY_HAND),
        "data=b",
    ),
    "of equal ones the first by name": (
        (waiting(), a_volume("b"), a_volume("a"), BY_HAND),
        "data=a",
    ),
    "the smallest that this node can reach": (
        (waiting(), a_volume("a", "1Gi", node="n2"), a_volume("b", "2Gi", node="n1"), BY_HAND),
        "data=b",
    ),
    "one of another node": ((waiting(), a_volume(node="n2"), BY_HAND), NOTHING),
    "one of another class": ((waiting(), a_volume(storage_class="other"), BY_HAND), NOTHING),
    "one that is too small": (
        (waiting(storage="3Gi"), a_volume("a"), a_volume("b", "2Gi"), a_volume("c"), BY_HAND),
        f'{NOTHING} (claim "data" asks for 3Gi; the largest volume that would fit otherwise, "b", '
        "has 2Gi)",
    ),
    "one that is too small and one that does not fit": (
        (
            waiting(storage="3Gi"),
            a_volume("a"),
            a_volume("b", "2Gi", volumeMode="Block"),
            BY_HAND,
        ),
        f'{NOTHING} (claim "data" asks for 3Gi; the largest volume that would fit otherwise, "a", '
        "has 1Gi)",
    ),
    "one that is not available yet": ((waiting(), a_volume(phase="Pending"), BY_HAND), NOTHING),
    "one that was released": (
        (waiting(), a_volume(phase="Released", claimRef=pointing_at("x", "u")), BY_HAND),
        NOTHING,
    ),
    "one that is going": (
        (
            waiting(),
            a_volume(metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"}),
            BY_HAND,
        ),
        NOTHING,
    ),
    "one of another mode": ((waiting(), a_volume(volumeMode="Block"), BY_HAND), NOTHING),
    "one of other access": (
        (waiting(accessModes=["ReadWriteMany"]), a_volume(), BY_HAND),
        NOTHING,
    ),
    "one of other attributes": (
        (waiting(), a_volume(volumeAttributesClassName="gold"), BY_HAND),
        NOTHING,
    ),
    "one that the selector wants": (
        (
            waiting(selector={"matchLabels": {"tier": "a"}}),
            a_volume("a"),
            a_volume("b", "2Gi", labels={"tier": "a"}),
            BY_HAND,
        ),
        "data=b",
    ),
    "one reserved for it by name beats a smaller one": (
        (waiting(), a_volume("a"), a_volume("b", "9Gi", claimRef=pointing_at("data")), BY_HAND),
        "data=b",
    ),
    "one that points at it, whatever its phase and labels": (
        (
            waiting(selector={"matchLabels": {"tier": "a"}}),
            a_volume(phase="Released", claimRef=pointing_at("data", "uid-data")),
            BY_HAND,
        ),
        "data=disk",
    ),
    "one whose binding has begun beats one reserved by name": (
        (
            waiting(),
            a_volume("a", claimRef=pointing_at("data")),
            a_volume("b", "2Gi", claimRef=pointing_at("data", "uid-data")),
            BY_HAND,
        ),
        "data=b",
    ),
    "one reserved for it on another node: no other will do": (
        (waiting(), a_volume("a"), a_volume("b", node="n2", claimRef=pointing_at("data")), BY_HAND),
        NOTHING,
    ),
    "one of an earlier claim of its name": (
        (waiting(), a_volume(claimRef=pointing_at("data", "old")), BY_HAND),
        NOTHING,
    ),
    "one reserved for it that is too small is ignored": (
        (
            waiting(storage="2Gi"),
            a_volume("a", claimRef=pointing_at("data")),
            a_volume("b", "3Gi"),
            BY_HAND,
        ),
        "data=b",
    ),
}
DYNAMIC: dict[str, tuple[tuple[Thing, ...], str]] = {
    "made to order": ((waiting(), MADE), "data=?"),
    "one made by hand comes first": ((waiting(), a_volume(), MADE), "data=disk"),
    "made to order where no volume is in reach": (
        (waiting(), a_volume(node="n2"), MADE),
        "data=?",
    ),
    "one reserved out of reach: another may be made": (
        (waiting(), a_volume(node="n2", claimRef=pointing_at("data")), MADE),
        "data=?",
    ),
    "a class without a provisioner": ((waiting(), a_class(provisioner="")), NOTHING),
    "an allowed topology": ((waiting(), a_class(**topology("a", "z"))), "data=?"),
    "a topology that is not allowed": ((waiting(), a_class(**topology("a"))), NOTHING),
    "a topology that asks for nothing": (
        (waiting(), a_class(allowedTopologies=[{}])),
        NOTHING,
    ),
    "meant for this node already": (
        (waiting(annotations=on_node("n1")), a_volume(), MADE),
        "data=?",
    ),
    "meant for another node": ((waiting(annotations=on_node("n2")), a_volume(), MADE), NOTHING),
    "a driver that tells no capacity": (
        (waiting(), MADE, a_driver(tells_capacity=False)),
        "data=?",
    ),
    "a driver that has told nothing": ((waiting(), MADE, a_driver()), NO_ROOM),
    "room enough": ((waiting(), MADE, a_driver(), a_room("1Gi")), "data=?"),
    "too little room": ((waiting(), MADE, a_driver(), a_room("512Mi")), NO_ROOM),
    "room, but no single volume that large": (
        (waiting(), MADE, a_driver(), a_room("9Gi", maximumVolumeSize="512Mi")),
        NO_ROOM,
    ),
    "a larger volume than room: the driver knows best": (
        (waiting(), MADE, a_driver(), a_room("512Mi", maximumVolumeSize="9Gi")),
        "data=?",
    ),
    "nobody knows how much room": ((waiting(), MADE, a_driver(), a_room(None)), NO_ROOM),
    "room for another class": (
        (waiting(), MADE, a_driver(), a_room(storage_class="x")),
        NO_ROOM,
    ),
    "room in this zone": (
        (waiting(), MADE, a_driver(), a_room(topology={"matchLabels": {"zone": "z"}})),
        "data=?",
    ),
    "room in another zone": (
        (waiting(), MADE, a_driver(), a_room(topology={"matchLabels": {"zone": "a"}})),
        NO_ROOM,
    ),
    "room at a place that makes no sense": (
        (
            waiting(),
            MADE,
            a_driver(),
            a_room(topology={"matchExpressions": [{"key": "zone", "operator": "Near"}]}),
        ),
        NO_ROOM,
    ),
    "nothing in particular asked for": ((waiting(storage=""), MADE, a_driver()), "data=?"),
}
CASES = {
    **{f"bound: {name}": case for name, case in BOUND.items()},
    **{f"by hand: {name}": case for name, case in STATIC.items()},
    **{f"to order: {name}": case for name, case in DYNAMIC.items()},
}


@pytest.mark.parametrize(("things", "then"), CASES.values(), ids=CASES)
def test_one_claim(things: tuple[Thing, ...], then: str) -> None:
    assert chosen(*things, node=view_of(a_node(labels={"zone": "z"}))) == then


def test_siblings_get_different_volumes_the_small_request_first() -> None:
    things = (waiting("big", "2Gi"), waiting("small"), a_volume("a", "2Gi"), a_volume("b", "3Gi"))
    pod = a_pod("web", "big", "small")
    assert chosen(*things, BY_HAND, pod=pod) == "small=a big=b"
    assert chosen(*things[:3], BY_HAND, pod=pod) == NOTHING


def test_every_reason_is_told_in_upstreams_order() -> None:
    pod = a_pod("web", "far", "data")
    things = (a_bound_claim("far", "pv-far"), a_volume("pv-far", node="n2"), waiting(), BY_HAND)
    far = f'{AFFINITY} (volume "pv-far" is only on node "n2")'
    assert chosen(*things, pod=pod) == f"{far} + {NOTHING}"
    gone = (a_bound_claim("far", "gone"), waiting(), BY_HAND)
    assert chosen(*gone, pod=pod) == f"{NOTHING} + {NO_VOLUME}"


def test_volume_fields_are_not_looked_at() -> None:
    """As upstream: whoever asks for a node by its name gets any."""
    wanted = {"key": "metadata.name", "operator": "In", "values": ["n9"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchFields": [wanted]}]}}
    assert chosen(a_bound_claim(), a_volume(nodeAffinity=affinity)) == ""


def test_a_selector_that_makes_no_sense_is_an_error() -> None:
    broken = waiting(selector={"matchExpressions": [{"key": "a", "operator": "Like"}]})
    opinion = RULE.look_at(picture_of(MINE, storage=Stored(broken, BY_HAND)))
    assert isinstance(opinion, Trouble)
    assert opinion.message.startswith(
        'running "VolumeBinding" filter plugin: error creating internal label selector for claim: '
        "default/data: "
    )


def test_a_pod_without_claims_is_no_business_of_this_rule() -> None:
    assert reasons(RULE, picture_of(a_pod())) == FINE


GCE: Doc = {"csi": None, "gcePersistentDisk": {"pdName": "d"}}
PLUGIN = "kubernetes.io/gce-pd"
ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, OLD_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
DRIVER_ZONE = "topology.gke.io/zone"
TAKEN_OVER: dict[str, tuple[Doc, dict[str, str], str]] = {
    "its zone by the driver's label": ({"nodeAffinity": on(ZONE, "a")}, {DRIVER_ZONE: "a"}, ""),
    "its zone by an old label": ({"nodeAffinity": on(OLD_ZONE, "a")}, {DRIVER_ZONE: "a"}, ""),
    "another zone": ({"nodeAffinity": on(ZONE, "a")}, {DRIVER_ZONE: "b", ZONE: "a"}, AFFINITY),
    "a zone in its labels": ({"labels": {ZONE: "a__b"}}, {DRIVER_ZONE: "b"}, ""),
    "another zone than in its labels": ({"labels": {ZONE: "a"}}, {DRIVER_ZONE: "b"}, AFFINITY),
    "no zone": ({}, {DRIVER_ZONE: "b"}, ""),
    "other wishes stay": ({"nodeAffinity": on(HOSTNAME, "n9")}, {DRIVER_ZONE: "b"}, AFFINITY),
}


@pytest.mark.parametrize(("spec", "labels", "then"), TAKEN_OVER.values(), ids=TAKEN_OVER)
def test_a_volume_that_a_driver_has_taken_over(
    spec: Doc, labels: dict[str, str], then: str
) -> None:
    volume = a_volume(**{**GCE, **spec})
    node = view_of(a_node(labels=labels), csi=a_csi_node(migrated=f"{PLUGIN},other"))
    assert chosen(a_bound_claim(), volume, node=node).partition(" (")[0] == then


def test_elsewhere_the_volume_goes_by_its_own_labels() -> None:
    volume = a_volume(nodeAffinity=on(ZONE, "a"), **GCE)
    node = view_of(a_node(labels={ZONE: "a"}), csi=a_csi_node())
    assert chosen(a_bound_claim(), volume, node=node) == ""


def test_an_old_region_is_read_as_the_new_one() -> None:
    terms = [
        {
            "matchExpressions": [
                {"key": OLD_ZONE, "operator": "In", "values": ["a"]},
                {"key": OLD_REGION, "operator": "In", "values": ["r"]},
            ]
        }
    ]
    volume = a_volume(nodeAffinity={"required": {"nodeSelectorTerms": terms}}, **GCE)
    node = view_of(a_node(labels={DRIVER_ZONE: "a", REGION: "r"}), csi=a_csi_node(migrated=PLUGIN))
    assert chosen(a_bound_claim(), volume, node=node) == ""


WAKES: dict[str, tuple[Pod, Change, bool]] = {
    "its claim comes": (MINE, Change(None, a_claim()), True),
    "its claim changes": (MINE, Change(a_claim(), a_claim(volume="x")), True),
    "its claim goes": (MINE, Change(a_claim(), None), False),
    "another claim changes": (MINE, Change(None, a_claim("other")), False),
    "a volume comes": (MINE, Change(None, a_volume()), True),
    "a volume changes": (MINE, Change(a_volume(phase="Pending"), a_volume()), True),
    "a volume goes": (MINE, Change(a_volume(), None), False),
    "a class comes": (MINE, Change(None, a_class()), True),
    "a class allows more": (MINE, Change(a_class(**topology("a")), a_class()), True),
    "a class changes in other ways": (
        MINE,
        Change(a_class(), a_class(allowVolumeExpansion=True)),
        False,
    ),
    "a node comes": (MINE, Change(None, a_node()), True),
    "a node is relabelled": (MINE, Change(a_node(), a_node(labels={"a": "1"})), True),
    "a node changes in other ways": (MINE, Change(a_node(), a_node(status={})), False),
    "a driver registers": (MINE, Change(None, a_csi_node()), True),
    "a driver takes over a plugin": (
        MINE,
        Change(a_csi_node(), a_csi_node(migrated=PLUGIN)),
        True,
    ),
    "a driver's limit changes": (MINE, Change(a_csi_node(), a_csi_node(most=1)), False),
    "a driver does not tell its capacity any more": (
        MINE,
        Change(a_driver(DRIVER), a_driver(tells_capacity=False)),
        True,
    ),
    "a driver tells its capacity": (
        MINE,
        Change(a_driver(tells_capacity=False), a_driver()),
        False,
    ),
    "a driver that tells its capacity is gone": (MINE, Change(a_driver(), None), True),
    "a driver that does not is gone": (MINE, Change(a_driver(tells_capacity=False), None), False),
    "room is told": (MINE, Change(None, a_room()), True),
    "there is more room": (MINE, Change(a_room("1Gi"), a_room("2Gi")), True),
    "there is less room": (MINE, Change(a_room("2Gi"), a_room("1Gi")), False),
    "it is known how much room there is": (MINE, Change(a_room(None), a_room("1Gi")), True),
    "it is not known any more": (MINE, Change(a_room("1Gi"), a_room(None)), False),
}


@pytest.mark.parametrize(("pod", "change", "then"), WAKES.values(), ids=WAKES)
def test_what_wakes(pod: Pod, change: Change, then: bool) -> None:  # noqa: FBT001 - a column
    assert RULE.is_woken(pod, change) is then
