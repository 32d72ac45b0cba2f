"""All rules together: where a pod goes, and what is said when it goes nowhere."""

import pkgutil
from importlib import import_module
from itertools import permutations

import pytest
from msgspec.structs import replace

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduling import decide as package
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.schedule import RULES, decide, is_woken
from mooring.scheduling.plan import Assignment, PodVolumes, Reservation, Trouble, Unschedulable
from mooring.scheduling.view import NodeView
from tests.unit.scheduling.things import (
    Stored,
    a_bound_claim,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_volume,
    asking,
    picture_of,
    view_of,
)

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
UNTOLERATED = "node(s) had untolerated taint(s)"


def closed(name: str) -> Node:
    return a_node(name, spec={"unschedulable": True})


def tainted(name: str) -> Node:
    return a_node(name, spec={"taints": [{"key": "a", "effect": "NoSchedule"}]})


def full(name: str, priority: int = 0) -> NodeView:
    return view_of(a_node(name), a_pod("other", containers=[asking("4")], priority=priority))


def told(pod: Pod, *nodes: NodeView, storage: Stored | None = None) -> Unschedulable:
    verdict = decide(picture_of(pod, *nodes, storage=storage))
    assert isinstance(verdict, Unschedulable), verdict
    return verdict


NAMED = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
            ]
        }
    }
}

MESSAGES: dict[str, tuple[Pod, tuple[NodeView, ...], Stored, str, set[str]]] = {
    "one reason": (
        a_pod(),
        (view_of(tainted("n1")),),
        Stored(),
        f"0/1 nodes are available: 1 {UNTOLERATED}. "
        f"preemption: 0/1 nodes are available: 1 {NOT_HELPFUL}.",
        {"TaintToleration"},
    ),
    "the same reason on several nodes": (
        a_pod(),
        (view_of(tainted("n1")), view_of(tainted("n2"))),
        Stored(),
        f"0/2 nodes are available: 2 {UNTOLERATED}. "
        f"preemption: 0/2 nodes are available: 2 {NOT_HELPFUL}.",
        {"TaintToleration"},
    ),
    "several reasons, in order of their text": (
        a_pod(containers=[asking("1")]),
        (view_of(tainted("n1")), full("n2"), view_of(closed("n3"))),
        Stored(),
        f"0/3 nodes are available: 1 Insufficient cpu, 1 {UNTOLERATED}, "
        "1 node(s) were unschedulable. preemption: 0/3 nodes are available: "
        f"1 {NO_VICTIMS}, 2 {NOT_HELPFUL}.",
        {"TaintToleration", "NodeResourcesFit", "NodeUnschedulable"},
    ),
    "several reasons of one node": (
        a_pod(containers=[asking("9", "99Gi")]),
        (view_of(),),
        Stored(),
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. "
        f"preemption: 0/1 nodes are available: 1 {NOT_HELPFUL}.",
        {"NodeResourcesFit"},
    ),
    "a reason that is the pod's own": (
        a_pod("web", "data"),
        (view_of(a_node("n1")), view_of(a_node("n2"))),
        Stored(),
        '0/2 nodes are available: persistentvolumeclaim "data" not found. '
        f"preemption: 0/2 nodes are available: 2 {NOT_HELPFUL}.",
        {"VolumeRestrictions"},
    ),
    "unbound claims": (
        a_pod("web", "data"),
        (view_of(),),
        Stored(a_claim()),
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
        f"preemption: 0/1 nodes are available: 1 {NOT_HELPFUL}.",
        {"VolumeBinding"},
    ),
    "a volume that is gone": (
        a_pod("web", "data"),
        (view_of(),),
        Stored(a_bound_claim()),
        '0/1 nodes are available: persistentvolume "disk" not found. '
        f"preemption: 0/1 nodes are available: 1 {NOT_HELPFUL}.",
        {"VolumeZone"},
    ),
    "the node that it names": (
        a_pod(affinity=NAMED),
        (view_of(tainted("n1")), view_of(a_node("n2"))),
        Stored(),
        "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], "
        f"1 {UNTOLERATED}. "
        f"preemption: 0/2 nodes are available: 2 {NOT_HELPFUL}.",
        {"TaintToleration", "NodeAffinity"},
    ),
    "a pod that may not evict others": (
        a_pod(containers=[asking("1")], preemptionPolicy="Never"),
        (full("n1"),),
        Stored(),
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: not eligible due to preemptionPolicy=Never.",
        {"NodeResourcesFit"},
    ),
    "others that are as important": (
        a_pod(containers=[asking("1")], priority=10),
        (full("n1", priority=10), full("n2", priority=20)),
        Stored(),
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
        f"2 {NO_VICTIMS}.",
        {"NodeResourcesFit"},
    ),
    "no nodes": (a_pod(), (), Stored(), "no nodes available to schedule pods", set()),
}


@pytest.mark.parametrize(
    ("pod", "nodes", "storage", "message", "rules"), MESSAGES.values(), ids=MESSAGES
)
def test_what_is_said(
    pod: Pod, nodes: tuple[NodeView, ...], storage: Stored, message: str, rules: set[str]
) -> None:
    picture = picture_of(pod, storage=storage)
    assert decide(replace(picture, nodes=nodes)) == Unschedulable(message, frozenset(rules))


def test_the_first_rule_to_refuse_is_the_one_that_is_told() -> None:
    node = a_node(spec={"unschedulable": True, "taints": [{"key": "a", "effect": "NoSchedule"}]})
    pod = a_pod(nodeSelector={"a": "b"}, containers=[asking("99")])
    assert told(pod, view_of(node)).rules == {"NodeUnschedulable"}


def test_rules_are_asked_in_upstreams_order() -> None:
    assert [rule.name for rule in RULES] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    ]


def test_every_rule_that_there_is_is_asked() -> None:
    modules = pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    rules = (vars(import_module(module.name)).get("RULE") for module in modules)
    assert {rule.name for rule in rules if rule is not None} == {rule.name for rule in RULES}


def test_a_pod_goes_where_its_volume_is() -> None:
    storage = Stored(a_bound_claim(), a_volume(node="n2"))
    nodes = (view_of(a_node("n1")), view_of(a_node("n2")))
    assert decide(picture_of(a_pod("web", "data"), *nodes, storage=storage)) == Assignment("n2")


def test_what_has_to_be_written_comes_along() -> None:
    claim, volume = a_claim(storage_class="local"), a_volume(node="n2")
    other = a_claim("made", storage_class="local")
    storage = Stored(claim, other, volume, a_class())
    nodes = (view_of(closed("n1")), view_of(a_node("n2")))
    verdict = decide(picture_of(a_pod("web", "data", "made"), *nodes, storage=storage))
    assert verdict == Assignment("n2", PodVolumes((Reservation(volume, claim),), (other,)))


def test_trouble_is_not_a_refusal() -> None:
    broken = a_claim(
        storage_class="local", selector={"matchExpressions": [{"key": "a", "operator": "Like"}]}
    )
    picture = picture_of(a_pod("web", "data"), storage=Stored(broken, a_class()))
    assert isinstance(decide(picture), Trouble)


def test_the_order_of_nodes_does_not_matter() -> None:
    nodes = (view_of(a_node("n1")), view_of(a_node("n2"), a_pod("x")), view_of(a_node("n3")))
    places = {str(decide(picture_of(a_pod(), *order))) for order in permutations(nodes)}
    assert places == {str(Assignment("n1"))}


def test_any_rule_that_refused_may_wake_the_pod() -> None:
    node = a_node("n9")
    assert is_woken(a_pod(), frozenset({"TaintToleration"}), Change(None, node))
    assert not is_woken(a_pod(), frozenset({"TaintToleration"}), Change(node, None))
    rules = frozenset({"TaintToleration", "NodeResourcesFit"})
    assert is_woken(a_pod(), rules, Change(a_pod("x", node="n1"), None))


def test_where_there_was_no_node_a_node_wakes() -> None:
    assert is_woken(a_pod(), frozenset(), Change(None, a_node()))
    assert not is_woken(a_pod(), frozenset(), Change(None, a_volume()))
