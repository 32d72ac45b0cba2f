"""Volumes in zones and regions."""

from collections.abc import Mapping

import pytest

from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.zone import RULE
from tests.unit.scheduling.decide.asking_rules import FINE, reasons
from tests.unit.scheduling.things import (
    Stored,
    a_bound_claim,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_volume,
    picture_of,
    view_of,
)

ELSEWHERE = ("node(s) had no available volume zone",)
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"

CASES: dict[str, tuple[Mapping[str, str], Mapping[str, str], tuple[str, ...]]] = {
    "a volume anywhere": ({}, {ZONE: "a"}, FINE),
    "the same zone": ({ZONE: "a"}, {ZONE: "a"}, FINE),
    "another zone": ({ZONE: "a"}, {ZONE: "b"}, ELSEWHERE),
    "one of its zones": ({ZONE: "a__b"}, {ZONE: "b"}, FINE),
    "none of its zones": ({ZONE: "a__b"}, {ZONE: "c"}, ELSEWHERE),
    "a node that tells no zone": ({ZONE: "a"}, {}, FINE),
    "a node that tells only its region": ({ZONE: "a"}, {REGION: "r"}, ELSEWHERE),
    "zone and region": ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "r"}, FINE),
    "the zone in another region": ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, ELSEWHERE),
    "old labels on both": ({OLD_ZONE: "a"}, {OLD_ZONE: "a"}, FINE),
    "an old label on the volume": ({OLD_ZONE: "a"}, {ZONE: "a"}, FINE),
    "an old label on the volume, another zone": ({OLD_REGION: "a"}, {REGION: "b"}, ELSEWHERE),
    "an old label on the node only": ({ZONE: "a"}, {OLD_ZONE: "a"}, ELSEWHERE),
    "a label that cannot be understood": ({ZONE: "a__"}, {ZONE: "b"}, FINE),
}


@pytest.mark.parametrize(("volume", "node", "then"), CASES.values(), ids=CASES)
def test_a_node(volume: Mapping[str, str], node: Mapping[str, str], then: tuple[str, ...]) -> None:
    storage = Stored(a_bound_claim(), a_volume(labels=volume))
    view = view_of(a_node(labels=node))
    assert reasons(RULE, picture_of(a_pod("web", "data"), view, storage=storage)) == then


REFUSALS: dict[str, tuple[Stored, tuple[str, ...]]] = {
    "the claim is not there": (Stored(), ('persistentvolumeclaim "data" not found',)),
    "its volume is not there": (Stored(a_bound_claim()), ('persistentvolume "disk" not found',)),
    "it has neither a volume nor a class": (
        Stored(a_claim()),
        ("PersistentVolumeClaim had no pv name and storageClass name",),
    ),
    "its class is not there": (
        Stored(a_claim(storage_class="fast")),
        ('storageclass.storage.k8s.io "fast" not found',),
    ),
    "its volume should be there already": (
        Stored(a_claim(storage_class="fast"), a_class("fast", waits=False)),
        ("PersistentVolume had no name",),
    ),
    "its volume is yet to be chosen": (Stored(a_claim(storage_class="local"), a_class()), FINE),
}


@pytest.mark.parametrize(("storage", "then"), REFUSALS.values(), ids=REFUSALS)
def test_a_claim(storage: Stored, then: tuple[str, ...]) -> None:
    assert reasons(RULE, picture_of(a_pod("web", "data"), storage=storage)) == then


def test_ephemeral_volumes_are_not_looked_at() -> None:
    pod = a_pod(volumes=[{"name": "v", "ephemeral": {}}])
    assert RULE.look_at(picture_of(pod)) is None


MINE = a_pod("web", "data")
IN_A = a_volume(labels={ZONE: "a"})
WAKES: dict[str, tuple[Pod, Change, bool]] = {
    "a class that waits": (MINE, Change(None, a_class()), True),
    "a class that does not": (MINE, Change(None, a_class(waits=False)), False),
    "a volume comes": (MINE, Change(None, a_volume()), True),
    "a volume moves": (MINE, Change(IN_A, a_volume(labels={ZONE: "b"})), True),
    "a volume changes in other ways": (MINE, Change(IN_A, IN_A), False),
    "its claim is bound": (MINE, Change(a_claim(), a_bound_claim()), True),
    "another claim is bound": (MINE, Change(a_claim("b"), a_bound_claim("b")), False),
    "a node comes": (MINE, Change(None, a_node()), True),
    "a node is relabelled": (MINE, Change(a_node(), a_node(labels={ZONE: "a"})), True),
    "a node changes in other ways": (MINE, Change(a_node(), a_node(status={})), False),
}


@pytest.mark.parametrize(("pod", "change", "then"), WAKES.values(), ids=WAKES)
def test_what_wakes(pod: Pod, change: Change, then: bool) -> None:  # noqa: FBT001 - a column
    assert RULE.is_woken(pod, change) is then
