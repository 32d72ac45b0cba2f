"""The rules that look at other pods: ports, affinity and anti-affinity, spread."""

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.model.pod import Pod
from mooring.scheduling.decide import pod_affinity, ports, spread
from mooring.scheduling.decide.contract import Change, Rule
from mooring.scheduling.decide.memory import Memory
from mooring.scheduling.decide.occupancy import without
from mooring.scheduling.view import Counted, NodeView
from tests.unit.scheduling.decide.asking_rules import FINE, reasons
from tests.unit.scheduling.things import Doc, Stored, a_node, a_pod, picture_of, view_of

ALONE = ("node(s) didn't match pod affinity rules",)
BESIDE = ("node(s) didn't match pod anti-affinity rules",)
UNWANTED = ("node(s) didn't satisfy existing pods anti-affinity rules",)
UNEVEN = ("node(s) didn't match pod topology spread constraints",)
NOWHERE = ("node(s) didn't match pod topology spread constraints (missing required label)",)
TAKEN = ("node(s) didn't have free ports for the requested pod ports",)


def term(key: str = "zone", app: str = "web", **more: Any) -> Doc:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def near(*terms: Doc, **fields: Any) -> Pod:
    rules = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}
    return labelled(affinity=rules, **fields)


def far(*terms: Doc, **fields: Any) -> Pod:
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}
    return labelled(affinity=rules, **fields)


def labelled(
    name: str = "p", labels: Doc | None = None, namespace: str = "default", **spec: Any
) -> Pod:
    pod = a_pod(name, **spec)
    metadata = replace(pod.metadata, labels=labels or {}, namespace=namespace)
    return replace(pod, metadata=metadata)


def web(name: str = "w", **fields: Any) -> Pod:
    return labelled(name, {"app": "web"}, **fields)


def node(name: str, zone: str, *pods: Pod) -> NodeView:
    return view_of(a_node(name, {"zone": zone} if zone else {}), *pods)


def spreading(skew: int = 1, **more: Any) -> Pod:
    constraint = {"maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", **term(), **more}
    return web("p", topologySpreadConstraints=[constraint])


def with_port(name: str, number: int, **more: Any) -> Pod:
    port = {"containerPort": number, "hostPort": number, "protocol": "TCP", **more}
    return labelled(name, containers=[{"name": "c", "ports": [port]}])


IN_A, IN_B = (node("n1", "a"), node("n2", "b"))

CASES: dict[str, tuple[Rule, Pod, tuple[NodeView, ...], tuple[str, ...]]] = {
    "in the same zone": (
        pod_affinity.RULE,
        near(term()),
        (node("n1", "a"), node("n2", "a", web())),
        FINE,
    ),
    "in another zone": (
        pod_affinity.RULE,
        near(term()),
        (node("n1", "a"), node("n2", "b", web())),
        ALONE,
    ),
    "a node that is in no zone": (
        pod_affinity.RULE,
        near(term()),
        (node("n1", "", web()), node("n2", "b", web("x"))),
        ALONE,
    ),
    "nobody is there, and it is no such pod": (pod_affinity.RULE, near(term()), (IN_A,), ALONE),
    "nobody is there, and it is the first of its group": (
        pod_affinity.RULE,
        near(term(), labels={"app": "web"}),
        (IN_A,),
        FINE,
    ),
    "the first of its group, where there is no zone": (
        pod_affinity.RULE,
        near(term(), labels={"app": "web"}),
        (node("n1", ""),),
        ALONE,
    ),
    "company of another namespace": (
        pod_affinity.RULE,
        near(term()),
        (node("n1", "a", web(namespace="other")),),
        ALONE,
    ),
    "company of a namespace that is named": (
        pod_affinity.RULE,
        near(term(namespaces=["other"])),
        (node("n1", "a", web(namespace="other")),),
        FINE,
    ),
    "company of any namespace": (
        pod_affinity.RULE,
        near(term(namespaceSelector={})),
        (node("n1", "a", web(namespace="other")),),
        FINE,
    ),
    "company of namespaces with a label": (
        pod_affinity.RULE,
        near(term(namespaceSelector={"matchLabels": {"team": "x"}})),
        (node("n1", "a", web(namespace="labelled")),),
        FINE,
    ),
    "company of namespaces without it": (
        pod_affinity.RULE,
        near(term(namespaceSelector={"matchLabels": {"team": "x"}})),
        (node("n1", "a", web(namespace="other")),),
        ALONE,
    ),
    "company of the same version alone": (
        pod_affinity.RULE,
        near(term(matchLabelKeys=["version"]), labels={"version": "2"}),
        (node("n1", "a", web()),),
        ALONE,
    ),
    "one pod has to be all that is wanted": (
        pod_affinity.RULE,
        near(term(app="web"), term(app="db")),
        (node("n1", "a", web(), labelled("d", {"app": "db"})),),
        ALONE,
    ),
    "away from what is here": (
        pod_affinity.RULE,
        far(term()),
        (node("n1", "a"), node("n2", "a", web())),
        BESIDE,
    ),
    "away from what is elsewhere": (
        pod_affinity.RULE,
        far(term()),
        (node("n1", "a"), node("n2", "b", web())),
        FINE,
    ),
    "on each node one": (
        pod_affinity.RULE,
        far(term("kubernetes.io/hostname"), labels={"app": "web"}),
        (node("n1", "a", web()), IN_B),
        BESIDE,
    ),
    "unwanted by one that is here": (
        pod_affinity.RULE,
        web("p"),
        (node("n1", "a"), node("n2", "a", far(term(), name="hermit"))),
        UNWANTED,
    ),
    "unwanted elsewhere": (
        pod_affinity.RULE,
        web("p"),
        (node("n1", "a"), node("n2", "b", far(term(), name="hermit"))),
        FINE,
    ),
    "of no concern to the hermit": (
        pod_affinity.RULE,
        labelled("p", {"app": "db"}),
        (node("n1", "a", far(term(), name="hermit")),),
        FINE,
    ),
    "even": (spread.RULE, spreading(), (node("n1", "a"), node("n2", "b", web())), FINE),
    "one too many": (
        spread.RULE,
        spreading(),
        (node("n1", "a", web()), node("n2", "b")),
        UNEVEN,
    ),
    "a skew of two": (
        spread.RULE,
        spreading(2),
        (node("n1", "a", web()), node("n2", "b")),
        FINE,
    ),
    "a node that is in no zone cannot be counted": (
        spread.RULE,
        spreading(),
        (node("n1", ""), node("n2", "b")),
        NOWHERE,
    ),
    "too few zones count as an empty one": (
        spread.RULE,
        spreading(minDomains=2),
        (node("n1", "a", web()),),
        UNEVEN,
    ),
    "pods of other namespaces do not count": (
        spread.RULE,
        spreading(),
        (node("n1", "a", web(namespace="other")), node("n2", "b")),
        FINE,
    ),
    "a wish is none": (
        spread.RULE,
        spreading(whenUnsatisfiable="ScheduleAnyway"),
        (node("n1", "a", web()), node("n2", "b")),
        FINE,
    ),
    "a free port": (ports.RULE, with_port("p", 80), (node("n1", "a", with_port("o", 81)),), FINE),
    "a taken port": (ports.RULE, with_port("p", 80), (node("n1", "a", with_port("o", 80)),), TAKEN),
    "the same number of another protocol": (
        ports.RULE,
        with_port("p", 80),
        (node("n1", "a", with_port("o", 80, protocol="UDP")),),
        FINE,
    ),
    "the same number at another address": (
        ports.RULE,
        with_port("p", 80, hostIP="127.0.0.1"),
        (node("n1", "a", with_port("o", 80, hostIP="127.0.0.2")),),
        FINE,
    ),
    "the same number at all addresses": (
        ports.RULE,
        with_port("p", 80, hostIP="127.0.0.1"),
        (node("n1", "a", with_port("o", 80)),),
        TAKEN,
    ),
}


@pytest.mark.parametrize(("rule", "pod", "nodes", "expected"), CASES.values(), ids=CASES)
def test_the_first_node(
    rule: Rule, pod: Pod, nodes: tuple[NodeView, ...], expected: tuple[str, ...]
) -> None:
    storage = Stored(namespaces={"labelled": {"team": "x"}})
    assert reasons(rule, picture_of(pod, *nodes, storage=storage)) == expected


def test_what_was_counted_for_others_changes_no_answer() -> None:
    counted: Memory[Counted] = Memory()
    storage = Stored(namespaces={"labelled": {"team": "x"}})
    for name, (rule, pod, nodes, expected) in (*CASES.items(), *CASES.items()):
        picture = replace(picture_of(pod, *nodes, storage=storage), counted=counted)
        assert reasons(rule, picture) == expected, name


def test_a_node_that_has_changed_is_counted_anew() -> None:
    counted: Memory[Counted] = Memory()
    for others, expected in (((), ALONE), ((web(),), FINE), ((), ALONE)):
        picture = picture_of(near(term()), IN_A, node("n3", "a", *others))
        assert reasons(pod_affinity.RULE, replace(picture, counted=counted)) == expected


@pytest.mark.parametrize(
    ("pod", "other", "expected"),
    [
        (near(term(namespaceSelector={"matchLabels": {"team": "x"}})), web(namespace="n"), ALONE),
        (far(term(namespaceSelector={"matchLabels": {"team": "x"}})), web(namespace="n"), BESIDE),
        (
            web("p", namespace="n"),
            far(term(namespaceSelector={"matchLabels": {"team": "x"}}), name="hermit"),
            UNWANTED,
        ),
    ],
    ids=["near", "far", "unwanted"],
)
def test_a_namespace_that_has_other_labels_is_looked_at_anew(
    pod: Pod, other: Pod, expected: tuple[str, ...]
) -> None:
    counted: Memory[Counted] = Memory()
    here = node("n1", "a", other)
    said = set()
    for labels in ({}, {"team": "x"}, {}):
        storage = Stored(namespaces={"n": labels})
        picture = replace(picture_of(pod, here, storage=storage), counted=counted)
        assert reasons(pod_affinity.RULE, picture) == reasons(
            pod_affinity.RULE, replace(picture, counted=None)
        )
        said.add(reasons(pod_affinity.RULE, picture))
    assert said == {FINE, expected}


GOING: dict[str, tuple[Rule, Pod, Pod]] = {
    "one that it avoids": (pod_affinity.RULE, far(term()), web()),
    "one that avoids it": (pod_affinity.RULE, web("p"), far(term(), name="w")),
    "one of its own kind": (spread.RULE, spreading(), web()),
    "one that has its port": (ports.RULE, with_port("p", 80), with_port("w", 80)),
}


@pytest.mark.parametrize(("rule", "pod", "other"), GOING.values(), ids=GOING)
def test_the_going_of_a_pod_helps_if_it_stood_in_the_way(rule: Rule, pod: Pod, other: Pod) -> None:
    here = node("n1", "a", other)
    picture = picture_of(pod, here, node("n2", "b"))
    check = rule.look_at(picture)
    assert callable(check)
    refused = check(here)
    assert refused is not None
    assert refused.yields
    assert check(without(here, {other.key})) is None


def test_what_wakes_a_pod_that_waits_for_others() -> None:
    waiting, other = near(term()), web()
    moved = replace(other, spec=replace(other.spec, node_name="n1"))
    for rule in (pod_affinity.RULE, spread.RULE):
        assert rule.is_woken(waiting, Change(None, moved))
        assert rule.is_woken(waiting, Change(moved, None))
        assert not rule.is_woken(waiting, Change(moved, moved))
        assert rule.is_woken(waiting, Change(None, a_node()))
        assert not rule.is_woken(waiting, Change(a_node(), a_node()))


def test_what_wakes_a_pod_that_waits_for_a_port() -> None:
    waiting = with_port("p", 80)
    assert ports.RULE.is_woken(waiting, Change(with_port("o", 80), None))
    assert not ports.RULE.is_woken(waiting, Change(with_port("o", 81), None))
    assert ports.RULE.is_woken(waiting, Change(None, a_node()))
