"""How the binding of a pod's volumes goes."""

import pytest
from msgspec.structs import replace

from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.wellknown import Annotation
from mooring.scheduling.decide.bound import Asked, Bound, Failed, Pending, Seen, State, judge
from tests.unit.scheduling.things import (
    DONE,
    Stored,
    Thing,
    a_bound_claim,
    a_claim,
    a_node,
    a_volume,
    pointing_at,
)

RESERVED = Asked("n1", reserved=(("disk", Key("default", "data")),))
MADE = Asked("n1", provisioned=(Key("default", "data"),))
MINE = pointing_at("data", "uid-data")
HERE = {Annotation.SELECTED_NODE: "n1"}
AFFINITY = 'node affinity doesn\'t match node "n1": no matching NodeSelectorTerms'

CASES: dict[str, tuple[Asked, tuple[Thing, ...], State]] = {
    "nothing asked for": (Asked("n1"), (), Bound()),
    "reserved, not bound yet": (RESERVED, (a_claim(), a_volume(claimRef=MINE)), Pending()),
    "reserved and half bound": (
        RESERVED,
        (a_claim(volume="disk"), a_volume(claimRef=MINE)),
        Pending(),
    ),
    "reserved and bound": (RESERVED, (a_bound_claim(), a_volume(claimRef=MINE)), Bound()),
    "the reservation is gone": (
        RESERVED,
        (a_claim(), a_volume()),
        Failed('ClaimRef got reset for pv "disk"'),
    ),
    "the reservation lost its uid": (
        RESERVED,
        (a_claim(), a_volume(claimRef=pointing_at("data"))),
        Failed('ClaimRef got reset for pv "disk"'),
    ),
    "the volume is gone": (
        RESERVED,
        (a_claim(),),
        Failed("failed to check binding: object not found"),
    ),
    "the claim is gone": (
        RESERVED,
        (a_volume(claimRef=MINE),),
        Failed("failed to check binding: object not found"),
    ),
    "the volume is out of reach by now": (
        RESERVED,
        (a_bound_claim(), a_volume(claimRef=MINE, node="n2")),
        Failed(f'pv "disk" {AFFINITY}'),
    ),
    "being made": (MADE, (a_claim(annotations=HERE),), Pending()),
    "made, and bound": (
        MADE,
        (a_bound_claim(metadata={"annotations": HERE | DONE}), a_volume()),
        Bound(),
    ),
    "made, its volume not seen yet": (
        MADE,
        (a_bound_claim(metadata={"annotations": HERE | DONE}),),
        Pending(),
    ),
    "made where the node cannot reach it": (
        MADE,
        (a_bound_claim(metadata={"annotations": HERE | DONE}), a_volume(node="n2")),
        Failed(f'pv "disk" {AFFINITY}'),
    ),
    "its maker gave up": (
        MADE,
        (a_claim(annotations={Annotation.PROVISIONER: "x"}),),
        Failed('provisioning failed for PVC "data"'),
    ),
    "its maker gave up, and no annotation is left": (
        MADE,
        (a_claim(),),
        Failed('selectedNode annotation reset for PVC "data"'),
    ),
    "meant for another node by now": (
        MADE,
        (a_claim(annotations={Annotation.SELECTED_NODE: "n2"}),),
        Failed('provisioning failed for PVC "data"'),
    ),
    "the claim to be made for is gone": (
        MADE,
        (),
        Failed("failed to check provisioning pvc: object not found"),
    ),
}


def seen(things: tuple[Thing, ...], node: Node | None) -> Seen:
    storage = Stored(*things)
    return Seen(node, None, storage.find_claim, storage.find_volume)


@pytest.mark.parametrize(("asked", "things", "then"), CASES.values(), ids=CASES)
def test_judge(asked: Asked, things: tuple[Thing, ...], then: State) -> None:
    assert judge(asked, seen(things, a_node())) == then


def test_a_node_that_is_gone() -> None:
    state = judge(RESERVED, seen((), None))
    assert state == Failed('failed to get node "n1": node "n1" not found')


def test_all_must_be_bound() -> None:
    both = replace(RESERVED, provisioned=(Key("default", "made"),))
    things = (a_bound_claim(), a_volume(claimRef=MINE), a_claim("made", annotations=HERE))
    assert judge(both, seen(things, a_node())) == Pending()
