"""The rules that look at the node alone: its name, whether it is closed, taints, labels."""

import pytest
from msgspec.structs import replace

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduling.decide import affinity, node_name, taints, unschedulable
from mooring.scheduling.decide.contract import Change, Refused, Rule
from tests.unit.scheduling.decide.asking_rules import FINE, reasons
from tests.unit.scheduling.things import Doc, a_node, a_pod, picture_of, view_of

NAME = ("node(s) didn't match the requested node name",)
CLOSED = ("node(s) were unschedulable",)
TAINTED = ("node(s) had untolerated taint(s)",)
UNWANTED = ("node(s) didn't match Pod's node affinity/selector",)


def tainted(*taints_of: tuple[str, str]) -> Node:
    spec = {"taints": [{"key": key, "effect": effect} for key, effect in taints_of]}
    return a_node(spec=spec)


def tolerating(key: str = "", effect: str = "") -> Pod:
    return a_pod(tolerations=[{"key": key, "operator": "Exists", "effect": effect}])


def wanting(*terms: Doc, preferred: tuple[Doc, ...] = (), **labels: str) -> Pod:
    """A pod with alternatives in its required affinity, and labels in its nodeSelector."""
    node_affinity: Doc = {}
    if terms:
        required = {"nodeSelectorTerms": list(terms)}
        node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = required
    if preferred:
        node_affinity["preferredDuringSchedulingIgnoredDuringExecution"] = list(preferred)
    return a_pod(nodeSelector=labels, affinity={"nodeAffinity": node_affinity})


def label(key: str, operator: str, *values: str) -> Doc:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(*values: str, operator: str = "In") -> Doc:
    wanted = {"key": "metadata.name", "operator": operator, "values": list(values)}
    return {"matchFields": [wanted]}


CORDONED = a_node(spec={"unschedulable": True})
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
SSD = a_node(labels={"disk": "ssd", "size": "7"})

CASES: dict[str, tuple[Rule, Pod, Node, tuple[str, ...]]] = {
    "a pod without a wish": (node_name.RULE, a_pod(), a_node(), FINE),
    "the node that it names": (node_name.RULE, a_pod(node="n1"), a_node(), FINE),
    "another node than it names": (node_name.RULE, a_pod(node="n2"), a_node(), NAME),
    "an open node": (unschedulable.RULE, a_pod(), a_node(), FINE),
    "a closed node": (unschedulable.RULE, a_pod(), CORDONED, CLOSED),
    "a closed node, tolerated": (unschedulable.RULE, tolerating(UNSCHEDULABLE), CORDONED, FINE),
    "a closed node, everything tolerated": (unschedulable.RULE, tolerating(), CORDONED, FINE),
    "a closed node, its eviction tolerated": (
        unschedulable.RULE,
        tolerating(UNSCHEDULABLE, "NoExecute"),
        CORDONED,
        CLOSED,
    ),
    "no taints": (taints.RULE, a_pod(), a_node(), FINE),
    "NoSchedule": (taints.RULE, a_pod(), tainted(("gpu", "NoSchedule")), TAINTED),
    "NoExecute": (taints.RULE, a_pod(), tainted(("gpu", "NoExecute")), TAINTED),
    "PreferNoSchedule only weighs": (
        taints.RULE,
        a_pod(),
        tainted(("gpu", "PreferNoSchedule")),
        FINE,
    ),
    "a tolerated taint": (taints.RULE, tolerating("gpu"), tainted(("gpu", "NoSchedule")), FINE),
    "one of two tolerated": (
        taints.RULE,
        tolerating("gpu"),
        tainted(("gpu", "NoSchedule"), ("cpu", "NoSchedule")),
        TAINTED,
    ),
    "a tolerated taint with another effect": (
        taints.RULE,
        tolerating("gpu", "NoExecute"),
        tainted(("gpu", "NoSchedule")),
        TAINTED,
    ),
    "no affinity": (affinity.RULE, a_pod(), a_node(), FINE),
    "a label it selects": (affinity.RULE, wanting(disk="ssd"), SSD, FINE),
    "a label that is missing": (affinity.RULE, wanting(disk="ssd"), a_node(), UNWANTED),
    "one of two labels": (affinity.RULE, wanting(disk="ssd", size="8"), SSD, UNWANTED),
    "a required term": (affinity.RULE, wanting(label("disk", "In", "hdd", "ssd")), SSD, FINE),
    "a required term that fails": (
        affinity.RULE,
        wanting(label("disk", "NotIn", "ssd")),
        SSD,
        UNWANTED,
    ),
    "one of two alternatives": (
        affinity.RULE,
        wanting(label("disk", "DoesNotExist"), label("size", "Gt", "6")),
        SSD,
        FINE,
    ),
    "selector and affinity must both hold": (
        affinity.RULE,
        wanting(label("disk", "Exists"), disk="hdd"),
        SSD,
        UNWANTED,
    ),
    "no terms at all": (affinity.RULE, wanting({}), SSD, UNWANTED),
    "one name": (affinity.RULE, wanting(named("n1")), SSD, FINE),
    "another name": (affinity.RULE, wanting(named("n2")), SSD, ("not among them",)),
    "another name, or a label": (
        affinity.RULE,
        wanting(named("n2"), label("disk", "Exists")),
        SSD,
        FINE,
    ),
    "anything but its name": (affinity.RULE, wanting(named("n1", operator="NotIn")), SSD, UNWANTED),
}


@pytest.mark.parametrize(("rule", "pod", "node", "then"), CASES.values(), ids=CASES)
def test_a_node(rule: Rule, pod: Pod, node: Node, then: tuple[str, ...]) -> None:
    assert reasons(rule, picture_of(pod, view_of(node))) == then


def test_names_that_exclude_each_other() -> None:
    both = {"matchFields": [*named("n1")["matchFields"], *named("n2")["matchFields"]]}
    opinion = affinity.look_at(picture_of(wanting(both)))
    assert opinion == Refused(("pod affinity terms conflict",))


def preferring(weight: int, term: Doc) -> Doc:
    return {"weight": weight, "preference": term}


def test_preferences_add_up() -> None:
    pod = wanting(
        preferred=(
            preferring(10, label("disk", "In", "ssd")),
            preferring(5, label("size", "Exists")),
            preferring(80, label("disk", "In", "hdd")),
        )
    )
    assert affinity.preference(pod, view_of(SSD)) == 15
    assert affinity.preference(a_pod(), view_of(SSD)) == 0


def test_mild_taints_are_counted() -> None:
    node = view_of(
        tainted(("a", "PreferNoSchedule"), ("b", "PreferNoSchedule"), ("c", "NoSchedule"))
    )
    assert taints.count_disliked(a_pod(), node) == 2
    assert taints.count_disliked(tolerating("a"), node) == 1


GPU = tainted(("gpu", "NoSchedule"))
WAKES: dict[str, tuple[Rule, Pod, Change, bool]] = {
    "a new node may have the name": (node_name.RULE, a_pod(), Change(None, a_node()), True),
    "a node that changed has not": (node_name.RULE, a_pod(), Change(a_node(), SSD), False),
    "a new open node": (unschedulable.RULE, a_pod(), Change(None, a_node()), True),
    "a new closed node": (unschedulable.RULE, a_pod(), Change(None, CORDONED), False),
    "a node is opened": (unschedulable.RULE, a_pod(), Change(CORDONED, a_node()), True),
    "a node was open before": (unschedulable.RULE, a_pod(), Change(a_node(), SSD), False),
    "a node is gone": (unschedulable.RULE, a_pod(), Change(a_node(), None), False),
    "a new node without taints": (taints.RULE, a_pod(), Change(None, a_node()), True),
    "a new node with taints": (taints.RULE, a_pod(), Change(None, GPU), False),
    "a new node with a tolerated taint": (taints.RULE, tolerating("gpu"), Change(None, GPU), True),
    "a taint goes": (taints.RULE, a_pod(), Change(GPU, a_node()), True),
    "a taint that did not matter goes": (
        taints.RULE,
        tolerating("gpu"),
        Change(GPU, a_node()),
        False,
    ),
    "a new node with the label": (affinity.RULE, wanting(disk="ssd"), Change(None, SSD), True),
    "a new node without it": (affinity.RULE, wanting(disk="ssd"), Change(None, a_node()), False),
    "a node gets the label": (affinity.RULE, wanting(disk="ssd"), Change(a_node(), SSD), True),
    "a node had it already": (
        affinity.RULE,
        wanting(disk="ssd"),
        Change(SSD, replace(SSD, kind="Node")),
        False,
    ),
}


@pytest.mark.parametrize(("rule", "pod", "change", "then"), WAKES.values(), ids=WAKES)
def test_what_wakes(rule: Rule, pod: Pod, change: Change, then: bool) -> None:  # noqa: FBT001 - a column
    assert rule.is_woken(pod, change) is then
