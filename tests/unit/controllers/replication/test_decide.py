"""How many pods a replication controller or a replica set makes, deletes, adopts and lets go."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from mooring.controllers.owned_pods.plan import Adopt, CreatePods, DeletePod, PodStep, Release
from mooring.controllers.replication.decide import decide, decide_status
from mooring.controllers.replication.plan import Failed
from mooring.controllers.replication.view import view
from mooring.errors import Forbidden
from mooring.model.condition import Condition
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet, ReplicaSetSpec
from mooring.model.replica_status import ReplicaStatus
from mooring.model.replication_controller import ReplicationController
from mooring.model.selector import SelectorDocument
from mooring.model.wire import read_document

Doc = dict[str, Any]

NOW = datetime.fromisoformat("2026-01-02T03:04:05Z")
GONE: dict[str, Any] = {"deletionTimestamp": "2026-01-02T03:04:05Z"}
OWNER = {
    "apiVersion": "v1",
    "kind": "ReplicationController",
    "name": "web",
    "uid": "u-web",
    "controller": True,
    "blockOwnerDeletion": True,
}
OTHER = {**OWNER, "kind": "ReplicaSet", "uid": "u-other"}


def a_controller(replicas: int = 2, **fields: Any) -> ReplicationController:
    status = fields.pop("status", {"replicas": 0, "observedGeneration": 1})
    spec = {
        "replicas": replicas,
        "selector": {"app": "web"},
        "template": {
            "metadata": {"labels": {"app": "web"}, "annotations": {"note": "mine"}},
            "spec": {"containers": [{"name": "c", "image": "x"}], "unheardOf": 7},
        },
        **fields.pop("spec", {}),
    }
    metadata = {"name": "web", "namespace": "ns", "uid": "u-web", "generation": 1, **fields}
    return read_document(
        {"metadata": metadata, "spec": spec, "status": status}, ReplicationController
    )


def a_pod(
    name: str,
    *,
    owner: Doc | None = OWNER,
    app: str = "web",
    phase: str = "Running",
    ready: bool = True,
    node: str = "n1",
    since: str = "2026-01-02T03:00:00Z",
    **metadata: Any,
) -> Pod:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
    return read_document(
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": f"u-{name}",
                "labels": {"app": app},
                "ownerReferences": [owner] if owner else [],
                "creationTimestamp": since,
                **metadata,
            },
            "spec": {"nodeName": node},
            "status": {"phase": phase, "conditions": [condition]},
        },
        Pod,
    )


def told(step: PodStep) -> str:
    match step:
        case Adopt(_, pod):
            return f"adopt {pod.name}"
        case Release(_, pod):
            return f"release {pod.name}"
        case CreatePods(_, documents):
            return f"create {len(documents)}"
        case DeletePod(_, pod):
            return f"delete {pod.name}"


def decided(
    controller: ReplicationController, *pods: Pod, doomed: tuple[str, ...] = ()
) -> list[str]:
    """The steps, and the status if it changes."""
    seen = view(controller, pods, pods, doomed, NOW)
    steps = [told(step) for step in decide(seen).steps]
    status = decide_status(seen, None)
    shown = f"status {status.replicas}/{status.ready_replicas}/{status.available_replicas}"
    return [*steps, shown] if status != controller.status else steps


TWO = (a_pod("a"), a_pod("b"))

TABLE: dict[str, tuple[ReplicationController, tuple[Pod, ...], list[str]]] = {
    "no pods: all are made": (a_controller(2), (), ["create 2"]),
    "one is missing": (a_controller(2), (a_pod("a"),), ["create 1", "status 1/1/1"]),
    "as many as wanted": (a_controller(2), TWO, ["status 2/2/2"]),
    "and said so already": (
        a_controller(
            2,
            status={
                "replicas": 2,
                "fullyLabeledReplicas": 2,
                "readyReplicas": 2,
                "availableReplicas": 2,
                "observedGeneration": 1,
            },
        ),
        TWO,
        [],
    ),
    "the spec changed: its generation is told": (
        a_controller(0, generation=2),
        (),
        ["status 0/0/0"],
    ),
    "too many: the one without a node goes": (
        a_controller(2),
        (*TWO, a_pod("c", node="", phase="Pending", ready=False)),
        ["delete c", "status 3/2/2"],
    ),
    "too many: the one that is not ready goes": (
        a_controller(1),
        (a_pod("a"), a_pod("b", ready=False)),
        ["delete b", "status 2/1/1"],
    ),
    "too many: of equals the youngest goes": (
        a_controller(1),
        (a_pod("a", since="2026-01-02T03:01:00Z"), a_pod("b", since="2026-01-02T03:02:00Z")),
        ["delete b", "status 2/2/2"],
    ),
    "none wanted: all go": (
        a_controller(0),
        TWO,
        ["delete a", "delete b", "status 2/2/2"],
    ),
    "pods that have ended are replaced": (
        a_controller(1),
        (a_pod("a", phase="Failed"),),
        ["create 1"],
    ),
    "pods on their way out are replaced": (a_controller(1), (a_pod("a", **GONE),), ["create 1"]),
    "a pod of nobody that fits is adopted": (
        a_controller(1),
        (a_pod("a", owner=None),),
        ["adopt a", "status 1/1/1"],
    ),
    "one of somebody else is not": (a_controller(1), (a_pod("a", owner=OTHER),), ["create 1"]),
    "one of nobody that does not fit is not": (
        a_controller(1),
        (a_pod("a", owner=None, app="db"),),
        ["create 1"],
    ),
    "its own that no longer fits is let go, and replaced": (
        a_controller(1),
        (a_pod("a", app="db"),),
        ["release a", "create 1"],
    ),
    "on its way out it makes, deletes and takes nothing": (
        a_controller(3, **GONE),
        (a_pod("a"), a_pod("b", owner=None), a_pod("c", app="db")),
        ["status 1/1/1"],
    ),
    "a pod that is not ready yet counts, but not as ready": (
        a_controller(1),
        (a_pod("a", ready=False),),
        ["status 1/0/0"],
    ),
    "a pod that has not been ready for long is not available": (
        a_controller(1, spec={"minReadySeconds": 600}),
        (a_pod("a"),),
        ["status 1/1/0"],
    ),
}


@pytest.mark.parametrize(("controller", "pods", "then"), TABLE.values(), ids=TABLE)
def test_controller(
    controller: ReplicationController, pods: tuple[Pod, ...], then: list[str]
) -> None:
    assert decided(controller, *pods) == then


def test_a_pod_whose_deletion_was_asked_for_is_not_counted() -> None:
    assert decided(a_controller(1), *TWO, doomed=("u-b",)) == ["status 1/1/1"]


def test_a_pod_is_made_of_all_of_the_template() -> None:
    (step,) = decide(view(a_controller(1), (), (), (), NOW)).steps
    assert isinstance(step, CreatePods)
    (made,) = step.documents
    assert made == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "web-",
            "namespace": "ns",
            "labels": {"app": "web"},
            "annotations": {"note": "mine"},
            "ownerReferences": [OWNER],
        },
        "spec": {"containers": [{"name": "c", "image": "x"}], "unheardOf": 7},
    }


@given(
    wanted=st.integers(0, 6),
    there=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6),
)
def test_one_pass_leads_to_the_wished_number(wanted: int, there: list[tuple[bool, bool]]) -> None:
    pods = [
        a_pod(f"p{index}", ready=ready, owner=OWNER if owned else None)
        for index, (ready, owned) in enumerate(there)
    ]
    steps = decide(view(a_controller(wanted), pods, pods, (), NOW)).steps
    made = sum(len(step.documents) for step in steps if isinstance(step, CreatePods))
    gone = sum(isinstance(step, DeletePod) for step in steps)
    assert len(pods) + made - gone == wanted
    assert not (made and gone)


# replica sets


def a_set(replicas: int = 1, **status: Any) -> ReplicaSet:
    controller = a_controller(replicas)
    spec = ReplicaSetSpec(
        replicas=replicas,
        selector=SelectorDocument(match_labels={"app": "web"}),
        template=controller.spec.template,
    )
    return ReplicaSet(
        metadata=controller.metadata, spec=spec, status=read_document(status, ReplicaStatus)
    )


def test_of_a_replica_set_those_that_are_being_deleted_are_counted_apart() -> None:
    pods = (a_pod("a"), a_pod("b", **GONE), a_pod("c"), a_pod("d", owner=None, **GONE))
    ended = a_pod("e", phase="Failed", **GONE)
    seen = view(a_set(), (*pods, ended), pods, ("u-c",), NOW)
    status = decide_status(seen, None)
    assert (status.replicas, status.terminating_replicas) == (1, 2)


def test_a_pod_goes_from_the_node_that_has_most_of_the_deployment() -> None:
    pods = (a_pod("a", node="n1"), a_pod("b", node="n2"))
    sibling = a_pod("c", node="n2", owner=OTHER)
    (step,) = decide(view(a_set(1), pods, (*pods, sibling), (), NOW)).steps
    assert told(step) == "delete b"


def test_a_failure_is_shown_until_there_is_none() -> None:
    failed = Failed("FailedCreate", Forbidden("no room for them"))
    status = decide_status(view(a_set(), (), (), (), NOW), failed)
    (condition,) = status.conditions
    assert condition == Condition(
        type="ReplicaFailure",
        status="True",
        reason="FailedCreate",
        message="no room for them",
        last_transition_time="2026-01-02T03:04:05Z",
    )
    later = view(a_set(1, conditions=[to_builtins(condition)]), (), (), (), NOW)
    assert decide_status(later, failed).conditions == (condition,)
    assert decide_status(later, None).conditions == ()
