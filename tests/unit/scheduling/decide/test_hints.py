"""What wakes whom: the interests of refused pods beside the topics of what happens."""

import pytest
from msgspec.structs import replace

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.hints import Source, interests, may_fit, source_of, topics
from tests.unit.scheduling.things import (
    Stored,
    a_bound_claim,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_room,
    a_volume,
    an_attachment,
    asking,
    pointing_at,
)

TAINTED = a_node(spec={"taints": [{"key": "a", "effect": "NoSchedule"}]})
CLOSED = a_node(spec={"unschedulable": True})
SMALL = a_node(status={"allocatable": {"cpu": "1"}})
ON_N1 = a_pod("other", "data", node="n1", containers=[asking("2")])
BINDING, ZONE, LIMITS = "VolumeBinding", "VolumeZone", "NodeVolumeLimits"
ROOM, PORTS, RESTRICTIONS = "NodeResourcesFit", "NodePorts", "VolumeRestrictions"
NEAR, SPREAD = "InterPodAffinity", "PodTopologySpread"
TAINTS, NODES, CLOSING, NAME = "TaintToleration", "NodeAffinity", "NodeUnschedulable", "NodeName"
ALL = {BINDING, ZONE, LIMITS, ROOM, PORTS, RESTRICTIONS, NEAR, SPREAD}
ALL |= {TAINTS, NODES, CLOSING, NAME}

WAITING = Stored(a_claim(storage_class="local"), a_class())
BOUND = Stored(a_bound_claim(), a_class())

CASES: dict[str, tuple[Change, Stored, set[str]]] = {
    "a new node": (Change(None, a_node()), WAITING, ALL),
    "a heartbeat": (Change(a_node(), replace(a_node())), WAITING, set()),
    "other labels": (
        Change(a_node(), a_node(labels={"a": "b"})),
        WAITING,
        {NODES, BINDING, ZONE, NEAR, SPREAD},
    ),
    "a taint that is gone": (Change(TAINTED, a_node()), WAITING, {TAINTS, SPREAD}),
    "a node that is opened": (Change(CLOSED, a_node()), WAITING, {CLOSING}),
    "a node that is closed": (Change(a_node(), CLOSED), WAITING, set()),
    "a node that grew": (Change(SMALL, a_node()), WAITING, {ROOM}),
    "a node that is gone": (Change(a_node(), None), WAITING, {NEAR, SPREAD}),
    "a driver on a node": (Change(None, a_csi_node()), WAITING, {LIMITS, BINDING}),
    "a pod that left": (
        Change(ON_N1, None),
        WAITING,
        {ROOM, PORTS, LIMITS, RESTRICTIONS, NEAR, SPREAD},
    ),
    "a pod that has a node now": (Change(None, ON_N1), WAITING, {NEAR, SPREAD}),
    "a volume that is detached": (Change(an_attachment("disk"), None), WAITING, {LIMITS}),
    "a volume that is attached": (Change(None, an_attachment("disk")), WAITING, set()),
    "the pod's claim": (
        Change(None, a_claim()),
        WAITING,
        {BINDING, ZONE, LIMITS, RESTRICTIONS},
    ),
    "another claim": (Change(None, a_claim("other")), WAITING, set()),
    "a free volume": (Change(None, a_volume()), WAITING, {BINDING, ZONE}),
    "a free volume of another class": (
        Change(None, a_volume(storage_class="other")),
        WAITING,
        set(),
    ),
    "a free volume that is too small": (Change(None, a_volume(storage="1Mi")), WAITING, set()),
    "a free volume, with the claim bound": (Change(None, a_volume("more")), BOUND, set()),
    "the bound claim's volume": (Change(None, a_volume()), BOUND, {BINDING, ZONE}),
    "a volume kept for the claim": (
        Change(None, a_volume(storage_class="other", claimRef=pointing_at("data"))),
        WAITING,
        {BINDING, ZONE, LIMITS, RESTRICTIONS},
    ),
    "a volume kept for another": (
        Change(None, a_volume(claimRef=pointing_at("other"))),
        WAITING,
        set(),
    ),
    "its class": (Change(None, a_class()), WAITING, {BINDING, ZONE}),
    "another class": (Change(None, a_class("other")), WAITING, set()),
    "its driver": (Change(a_driver(), a_driver(tells_capacity=False)), WAITING, {BINDING, ZONE}),
    "another driver": (Change(a_driver("other"), None), WAITING, set()),
    "room for it": (Change(None, a_room()), WAITING, {BINDING, ZONE}),
    "too little room": (Change(None, a_room("1Mi")), WAITING, set()),
    "room of another class": (Change(None, a_room(storage_class="other")), WAITING, set()),
}


@pytest.mark.parametrize(("change", "storage", "then"), CASES.values(), ids=CASES)
def test_the_rules_whose_refusal_a_change_may_end(
    change: Change, storage: Stored, then: set[str]
) -> None:
    pod = a_pod("web", "data")
    about = set(topics(change))
    woken = {
        rule
        for rule in ALL
        for one in interests(pod, frozenset({rule}), storage)
        if one.topic in about and may_fit(one.group, change)
    }
    assert woken == then


def test_without_a_node_only_a_node_helps() -> None:
    (only,) = interests(a_pod("web", "data"), frozenset(), WAITING)
    assert (only.topic, only.is_offered) == (("node", "new"), False)


SOURCES: dict[str, tuple[Change, Source | None]] = {
    "a free volume": (Change(None, a_volume()), Source(Volume, "disk")),
    "a volume that is taken": (Change(None, a_volume(claimRef=pointing_at("data"))), None),
    "a node": (Change(None, a_node()), Source(Node, "n1")),
    "the node that a pod left": (Change(ON_N1, None), Source(Node, "n1")),
    "the node of a driver": (Change(None, a_csi_node("n2")), Source(Node, "n2")),
    "the node of a detached volume": (
        Change(an_attachment("disk", "n2"), None),
        Source(Node, "n2"),
    ),
    "a class": (Change(None, a_class()), None),
    "a node that is gone": (Change(a_node(), None), None),
}


@pytest.mark.parametrize(("change", "then"), SOURCES.values(), ids=SOURCES)
def test_what_is_offered_to_one_pod_after_the_other(change: Change, then: Source | None) -> None:
    assert source_of(change) == then


@pytest.mark.parametrize("rule", [RESTRICTIONS, NEAR, SPREAD])
def test_a_node_may_matter_elsewhere_to_rules_that_look_at_other_pods(rule: str) -> None:
    pod: Pod = a_pod("web", "data")
    of_nodes = [one for one in interests(pod, frozenset({rule}), WAITING) if one.topic[0] == "node"]
    assert of_nodes
    assert not any(one.is_offered for one in of_nodes)
