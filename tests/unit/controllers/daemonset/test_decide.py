"""What is decided about daemon sets: which nodes, which pods, how they are replaced."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.daemonset.decide.daemon_set import decide
from mooring.controllers.daemonset.decide.nodes import Fit, fit
from mooring.controllers.daemonset.decide.rolling import Limits, limits
from mooring.controllers.daemonset.plan import NoteFailure, SaveStatus, Step
from mooring.controllers.daemonset.view import DaemonSetView, target_node
from mooring.controllers.owned_pods.plan import CreatePods, DeletePod
from mooring.model.controller_revision import ControllerRevision
from mooring.model.daemon_set import DaemonSet
from mooring.model.document import Doc
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.model.wire import read_document

NOW = datetime.fromisoformat("2026-01-02T03:04:05Z")
LONG_AGO = "2026-01-02T03:00:00Z"
GOING: Doc = {"deletionTimestamp": LONG_AGO}
OWNER = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "name": "agent",
    "uid": "u-agent",
    "controller": True,
    "blockOwnerDeletion": True,
}
SURGE: Doc = {
    "updateStrategy": {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
    }
}
NEW, OLD = "new", "old"


def template(**spec: Any) -> Doc:
    containers = [{"name": "c", "image": "x"}]
    return {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": containers, **spec}}


def a_set(*, pod: Doc | None = None, metadata: Doc | None = None, **spec: Any) -> DaemonSet:
    named = {"name": "agent", "namespace": "ns", "uid": "u-agent", "generation": 1}
    usual = {
        "selector": {"matchLabels": {"app": "agent"}},
        "template": template(**(pod or {})),
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    }
    doc = {"metadata": {**named, **(metadata or {})}, "spec": {**usual, **spec}}
    return read_document(doc, DaemonSet)


def a_node(name: str = "n1", *taints: tuple[str, str], **labels: str) -> Node:
    spec = {"taints": [{"key": key, "effect": effect} for key, effect in taints]}
    return read_document({"metadata": {"name": name, "labels": labels}, "spec": spec}, Node)


def a_pod(
    node: str,
    revision: str = NEW,
    *,
    name: str = "",
    phase: str = "Running",
    ready: bool = True,
    **metadata: Any,
) -> Pod:
    name = name or f"{revision}-{node}"
    doc = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"u-{name}",
            "labels": {"app": "agent", "controller-revision-hash": revision},
            "ownerReferences": [OWNER],
            "creationTimestamp": LONG_AGO,
            **metadata,
        },
        "spec": {"nodeName": node},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": LONG_AGO}],
        },
    }
    return read_document(doc, Pod)


def a_revision(set_: DaemonSet) -> ControllerRevision:
    metadata = {
        "name": f"agent-{NEW}",
        "labels": {"controller-revision-hash": NEW},
        "ownerReferences": [OWNER],
    }
    data = {"spec": {"template": {**set_.spec.template, "$patch": "replace"}}}
    return read_document({"metadata": metadata, "data": data, "revision": 1}, ControllerRevision)


def a_view(
    set_: DaemonSet, nodes: int, *pods: Pod, backoff: dict[str, float] | None = None
) -> DaemonSetView:
    known = tuple(a_node(f"n{number}") for number in range(1, nodes + 1))
    return DaemonSetView(set_, known, pods, (a_revision(set_),), backoff or {}, frozenset(), NOW)


def told(step: Step) -> list[str]:
    match step:
        case SaveStatus() | NoteFailure():
            return []
        case CreatePods(_, documents):
            made = (read_document(document, Pod) for document in documents)
            return [f"create on {target_node(pod)}" for pod in made]
        case DeletePod(_, pod):
            return [f"delete {pod.name}"]
        case Emit(_, _, reason, _):
            return [f"event {reason}"]
        case other:
            return [type(other).__name__]


def steps(view: DaemonSetView) -> list[str]:
    return [words for step in decide(view).steps for words in told(step)]


AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
            ]
        }
    }
}
UNFIT, STAYS, RUNS = Fit(False, False), Fit(False, True), Fit(True, True)  # noqa: FBT003
FITS: dict[str, tuple[Doc, Node, Fit]] = {
    "any node": ({}, a_node(), RUNS),
    "the node that is named": ({"nodeName": "n1"}, a_node(), RUNS),
    "another than is named": ({"nodeName": "n2"}, a_node(), UNFIT),
    "selected": ({"nodeSelector": {"disk": "ssd"}}, a_node(disk="ssd"), RUNS),
    "not selected": ({"nodeSelector": {"disk": "ssd"}}, a_node(disk="hdd"), UNFIT),
    "by affinity": ({"affinity": AFFINITY}, a_node(disk="ssd"), RUNS),
    "against affinity": ({"affinity": AFFINITY}, a_node(), UNFIT),
    "tainted": ({}, a_node("n1", ("db", "NoSchedule")), STAYS),
    "tainted to evict": ({}, a_node("n1", ("db", "NoExecute")), UNFIT),
    "tainted mildly": ({}, a_node("n1", ("db", "PreferNoSchedule")), RUNS),
    "tolerated": (
        {"tolerations": [{"operator": "Exists"}]},
        a_node("n1", ("db", "NoExecute")),
        RUNS,
    ),
    "not ready": ({}, a_node("n1", ("node.kubernetes.io/not-ready", "NoExecute")), RUNS),
    "cordoned": ({}, a_node("n1", ("node.kubernetes.io/unschedulable", "NoSchedule")), RUNS),
    "without a network": (
        {},
        a_node("n1", ("node.kubernetes.io/network-unavailable", "NoSchedule")),
        STAYS,
    ),
    "without a network, which it is to bring": (
        {"hostNetwork": True},
        a_node("n1", ("node.kubernetes.io/network-unavailable", "NoSchedule")),
        RUNS,
    ),
}


@pytest.mark.parametrize(("pod", "node", "wanted"), FITS.values(), ids=FITS)
def test_which_nodes_fit(pod: Doc, node: Node, wanted: Fit) -> None:
    assert fit(a_set(pod=pod).pod_spec(), node) == wanted


ON_DELETE: Doc = {"updateStrategy": {"type": "OnDelete"}}
PLANS: dict[str, tuple[DaemonSetView, list[str]]] = {
    "nodes without a pod": (a_view(a_set(), 2), ["create on n1", "create on n2"]),
    "all there": (a_view(a_set(), 1, a_pod("n1")), []),
    "one is going: its node waits": (a_view(a_set(), 1, a_pod("n1", **GOING)), []),
    "one is going, with surge: its node does not wait": (
        a_view(a_set(**SURGE), 1, a_pod("n1", **GOING)),
        ["create on n1"],
    ),
    "two on a node: the younger goes": (
        a_view(
            a_set(),
            1,
            a_pod("n1"),
            a_pod("n1", name="twin", creationTimestamp="2026-01-02T03:01:00Z"),
        ),
        ["delete twin"],
    ),
    "failed": (
        a_view(a_set(), 1, a_pod("n1", phase="Failed", ready=False)),
        ["event FailedDaemonPod", "delete new-n1"],
    ),
    "failed again, too soon": (
        a_view(a_set(), 1, a_pod("n1", phase="Failed", ready=False), backoff={"n1": 1.0}),
        [],
    ),
    "succeeded": (
        a_view(a_set(), 1, a_pod("n1", phase="Succeeded", ready=False)),
        ["event SucceededDaemonPod", "delete new-n1"],
    ),
    "where it should not be": (
        a_view(a_set(pod={"nodeName": "n2"}), 1, a_pod("n1")),
        ["delete new-n1"],
    ),
    "old ones: one at a time": (
        a_view(a_set(), 2, a_pod("n1", OLD), a_pod("n2", OLD)),
        ["delete old-n1"],
    ),
    "old ones, and a new one that is not available": (
        a_view(a_set(), 2, a_pod("n1", ready=False), a_pod("n2", OLD)),
        [],
    ),
    "an old one that is not available goes in any case": (
        a_view(a_set(), 2, a_pod("n1", ready=False), a_pod("n2", OLD, ready=False)),
        ["delete old-n2"],
    ),
    "a missing pod comes before old ones": (
        a_view(a_set(), 2, a_pod("n1", OLD)),
        ["create on n2"],
    ),
    "on delete": (a_view(a_set(**ON_DELETE), 1, a_pod("n1", OLD)), []),
    "surge: the new one comes first": (
        a_view(a_set(**SURGE), 2, a_pod("n1", OLD), a_pod("n2", OLD)),
        ["create on n1"],
    ),
    "surge: the old one waits for it": (
        a_view(a_set(**SURGE), 1, a_pod("n1", OLD), a_pod("n1", ready=False)),
        [],
    ),
    "surge: and goes": (
        a_view(a_set(**SURGE), 1, a_pod("n1", OLD), a_pod("n1")),
        ["delete old-n1"],
    ),
    "it is being deleted": (a_view(a_set(metadata=GOING), 1), []),
}


@pytest.mark.parametrize(("view", "wanted"), PLANS.values(), ids=PLANS)
def test_plans(view: DaemonSetView, wanted: list[str]) -> None:
    assert steps(view) == wanted


LIMITS: dict[str, tuple[Doc, int, Limits]] = {
    "a number": ({"maxUnavailable": 2}, 3, Limits(2, 0)),
    "a percentage, rounded up": ({"maxUnavailable": "10%"}, 11, Limits(2, 0)),
    "never none at all": ({"maxUnavailable": "0%"}, 3, Limits(1, 0)),
    "a surge": ({"maxUnavailable": 0, "maxSurge": "50%"}, 3, Limits(0, 2)),
}


@pytest.mark.parametrize(("said", "nodes", "wanted"), LIMITS.values(), ids=LIMITS)
def test_limits(said: Doc, nodes: int, wanted: Limits) -> None:
    strategy = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": said}}
    assert limits(a_set(**strategy), nodes) == wanted


def test_the_status_counts_nodes() -> None:
    view = a_view(a_set(), 3, a_pod("n1"), a_pod("n2", OLD, ready=False))
    (saved,) = [step for step in decide(view).steps if isinstance(step, SaveStatus)]
    status = saved.status
    assert (status.desired_number_scheduled, status.current_number_scheduled) == (3, 2)
    assert (status.number_ready, status.updated_number_scheduled) == (1, 1)
    assert (status.number_available, status.number_unavailable) == (1, 2)


revisions, readiness = st.sampled_from((NEW, OLD)), st.booleans()


@given(st.lists(st.tuples(revisions, readiness), min_size=1, max_size=6), st.integers(1, 3))
def test_without_surge_no_more_become_unavailable_than_allowed(
    found: list[tuple[str, bool]], most: int
) -> None:
    pods = [a_pod(f"n{n}", revision, ready=ready) for n, (revision, ready) in enumerate(found, 1)]
    said = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}}
    plan = decide(a_view(a_set(updateStrategy=said), len(found), *pods))
    gone = [step.pod for step in plan.steps if isinstance(step, DeletePod)]
    working = [pod for pod in pods if pod.status.conditions[0].is_true]
    taken = [pod for pod in gone if pod in working]
    assert len(taken) <= max(0, most - (len(pods) - len(working)))
    assert all(pod.metadata.labels["controller-revision-hash"] == OLD for pod in gone)
