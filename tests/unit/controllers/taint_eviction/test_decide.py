"""Who may stay on a node with NoExecute taints, and for how long."""

from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.controllers.taint_eviction.decide import decide, seconds_allowed
from mooring.controllers.taint_eviction.plan import DropTimer, Evict, SetTimer
from mooring.controllers.taint_eviction.view import PodView, Timer
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.model.taint import Taint
from mooring.model.wire import read_document

WALL = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
A, B = Taint("a.example.com/x", "NoExecute"), Taint("b.example.com/x", "NoExecute")


def exists(key: str = "", seconds: int | None = None, effect: str = "") -> dict[str, Any]:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": key, "operator": "Exists", "effect": effect, **limit}


def a_pod(*tolerations: dict[str, Any], **metadata: Any) -> Pod:
    return read_document(
        {
            "metadata": {"name": "web", "namespace": "ns", "uid": "u", **metadata},
            "spec": {"nodeName": "n1", "tolerations": list(tolerations)},
        },
        Pod,
    )


def a_view(pod: Pod, *taints: Taint, timer: Timer | None = None, now: float = 100.0) -> PodView:
    return PodView(pod, taints, timer, now, WALL)


ALLOWED = {
    "no taints": (a_pod(), (), inf),
    "not tolerated": (a_pod(), (A,), 0.0),
    "tolerated for ever": (a_pod(exists(A.key)), (A,), inf),
    "everything tolerated": (a_pod(exists()), (A, B), inf),
    "one of two not tolerated": (a_pod(exists(A.key)), (A, B), 0.0),
    "for a while": (a_pod(exists(A.key, 300)), (A,), 300.0),
    "the shortest of those that match": (
        a_pod(exists(A.key, 300), exists(B.key, 20), exists("c.example.com/x", 5)),
        (A, B),
        20.0,
    ),
    "one without a limit does not lift another's": (
        a_pod(exists(A.key), exists(A.key, 7)),
        (A,),
        7.0,
    ),
    "no time at all": (a_pod(exists(A.key, 0)), (A,), 0.0),
    "less than none": (a_pod(exists(A.key, -3)), (A,), 0.0),
    "for another effect": (a_pod(exists(A.key, effect="NoSchedule")), (A,), 0.0),
}


@pytest.mark.parametrize(("pod", "taints", "then"), ALLOWED.values(), ids=ALLOWED)
def test_seconds_allowed(pod: Pod, taints: tuple[Taint, ...], then: float) -> None:
    assert seconds_allowed(pod, taints) == then


def test_it_goes_at_once() -> None:
    ending, told = decide(a_view(a_pod(), A)).steps
    assert isinstance(ending, Evict)
    (target,) = ending.conditions
    assert (target.type, target.status) == ("DisruptionTarget", "True")
    assert (target.reason, target.message) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    assert isinstance(told, Emit)
    assert (told.reason, told.message) == (
        "TaintManagerEviction",
        "Marking for deletion Pod ns/web",
    )


def test_it_goes_later_and_says_when() -> None:
    timer, told = decide(a_view(a_pod(exists(A.key, 60)), A)).steps
    assert timer == SetTimer(a_pod(exists(A.key, 60)), Timer("u", 100.0, 160.0))
    assert isinstance(told, Emit)
    assert told.message == (
        "Node n1 has the taint a.example.com/x: "
        "the pod is deleted at 2026-01-02T03:05:05Z unless the taint goes"
    )


def test_its_time_runs_from_when_it_was_first_seen() -> None:
    pod = a_pod(exists(A.key, 60))
    running = Timer("u", 50.0, 110.0)
    assert decide(a_view(pod, A, timer=running)).steps == ()
    shorter = a_pod(exists(A.key, 50))
    assert isinstance(decide(a_view(shorter, A, timer=running)).steps[0], Evict)
    longer = a_pod(exists(A.key, 80))
    (timer, _) = decide(a_view(longer, A, timer=running)).steps
    assert timer == SetTimer(longer, Timer("u", 50.0, 130.0))


def test_the_taint_goes_in_time() -> None:
    pod = a_pod(exists(A.key, 60))
    dropped, told = decide(a_view(pod, timer=Timer("u", 50.0, 110.0))).steps
    assert dropped == DropTimer(pod)
    assert isinstance(told, Emit)
    assert told.message == "Cancelling deletion of Pod ns/web"


def test_one_that_goes_already_is_left_alone() -> None:
    pod = a_pod(deletionTimestamp="2026-01-02T03:04:05Z")
    assert decide(a_view(pod, A)).steps == ()
    assert decide(a_view(pod, A, timer=Timer("u", 50.0, 110.0))).steps == (DropTimer(pod),)


@given(
    limits=st.lists(st.none() | st.integers(-5, 400), max_size=3),
    passed=st.floats(0, 500),
)
def test_looked_at_again_it_ends_at_the_same_time(limits: list[int | None], passed: float) -> None:
    """However often it is looked at, a pod goes when the shortest limit is over, and not before."""
    pod = a_pod(*(exists(A.key, limit) for limit in limits))
    first = decide(a_view(pod, A)).steps
    timer = next((step.timer for step in first if isinstance(step, SetTimer)), None)
    allowed = seconds_allowed(pod, (A,))
    goes = any(isinstance(step, Evict) for step in first)
    assert goes is (allowed == 0.0)
    if timer is not None:
        later = replace(a_view(pod, A, timer=timer), now=100.0 + passed)
        gone = any(isinstance(step, Evict) for step in decide(later).steps)
        assert gone is (100.0 + passed >= timer.due)
