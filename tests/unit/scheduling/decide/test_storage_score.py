"""The room for a pod's volumes, when nodes are compared (KEP-4049)."""

import pytest
from msgspec.structs import replace

from mooring.model.claim import Claim
from mooring.model.kubernetes_version import NEWEST, V1_35, KubernetesVersion
from mooring.scheduling.decide.binding import VolumeCheck, look_at
from mooring.scheduling.decide.schedule import decide
from mooring.scheduling.decide.storage_score import storage_score
from mooring.scheduling.plan import Assignment
from mooring.scheduling.view import NodeView
from tests.unit.scheduling.things import (
    HOSTNAME,
    Stored,
    Thing,
    a_claim,
    a_class,
    a_driver,
    a_node,
    a_pod,
    a_room,
    a_volume,
    picture_of,
    view_of,
)


def the_room(capacity: str | None, node: str, storage_class: str = "local") -> Thing:
    """That only this node can reach."""
    where = {"matchLabels": {HOSTNAME: node}}
    name = f"{storage_class}-{node}"
    return a_room(capacity, name, storage_class=storage_class, topology=where)


def labelled(name: str) -> NodeView:
    return view_of(a_node(name, labels={HOSTNAME: name}))


TWO = (labelled("n1"), labelled("n2"))
ORDERED = (a_class(), a_driver())


def score(*things: Thing, claims: tuple[str, ...] = ("a",)) -> int:
    """Of the first of two nodes."""
    picture = picture_of(a_pod("web", *claims), *TWO, storage=Stored(*things))
    check = look_at(picture)
    assert isinstance(check, VolumeCheck), check
    return storage_score(check, TWO[0])


def asking_for(storage: str, name: str = "a", storage_class: str = "local") -> Claim:
    return a_claim(name, storage, storage_class=storage_class)


SCORES: dict[str, tuple[tuple[Thing, ...], tuple[str, ...], int]] = {
    "a tenth of the room is taken": ((asking_for("10Gi"), the_room("100Gi", "n1")), ("a",), 90),
    "all of it": ((asking_for("10Gi"), the_room("10Gi", "n1")), ("a",), 0),
    "the claims of a class share its room, which counts once": (
        (asking_for("10Gi"), asking_for("30Gi", "b"), the_room("100Gi", "n1")),
        ("a", "b"),
        60,
    ),
    "together they ask for more than there is": (
        (asking_for("60Gi"), asking_for("60Gi", "b"), the_room("100Gi", "n1")),
        ("a", "b"),
        0,
    ),
    "the mean over the classes, rounded": (
        (
            asking_for("10Gi"),
            the_room("100Gi", "n1"),
            a_class("other"),
            asking_for("25Gi", "b", "other"),
            the_room("100Gi", "n1", "other"),
        ),
        ("a", "b"),
        83,
    ),
    "a volume made by hand, by its size": (
        (asking_for("1Gi"), a_volume("v", "4Gi", node="n1")),
        ("a",),
        75,
    ),
    "with one made by hand the room for the others does not count": (
        (
            asking_for("1Gi"),
            a_volume("v", "4Gi", node="n1"),
            a_class("other"),
            asking_for("50Gi", "b", "other"),
            the_room("100Gi", "n1", "other"),
        ),
        ("a", "b"),
        75,
    ),
}


@pytest.mark.parametrize(("things", "claims", "wanted"), SCORES.values(), ids=SCORES)
def test_the_more_room_is_left_the_higher(
    things: tuple[Thing, ...], claims: tuple[str, ...], wanted: int
) -> None:
    assert score(*ORDERED, *things, claims=claims) == wanted


def test_a_driver_that_tells_no_room_scores_nothing() -> None:
    silent = a_driver(tells_capacity=False)
    assert score(a_class(), silent, asking_for("10Gi"), the_room("100Gi", "n1")) == 0


PLACES: dict[str, tuple[KubernetesVersion, str, str, str]] = {
    "where there is more room": (NEWEST, "50Gi", "100Gi", "n2"),
    "where there is more room, the other way round": (NEWEST, "100Gi", "50Gi", "n1"),
    "anywhere in 1.35: the first by name": (V1_35, "50Gi", "100Gi", "n1"),
}


@pytest.mark.parametrize(("release", "one", "other", "wanted"), PLACES.values(), ids=PLACES)
def test_a_pod_goes(release: KubernetesVersion, one: str, other: str, wanted: str) -> None:
    rooms = (the_room(one, "n1"), the_room(other, "n2"))
    storage = Stored(*ORDERED, asking_for("10Gi"), *rooms)
    picture = picture_of(a_pod("web", "a"), *TWO, storage=storage)
    verdict = decide(replace(picture, release=release))
    assert isinstance(verdict, Assignment), verdict
    assert verdict.node == wanted
