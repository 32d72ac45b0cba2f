"""The phase of a pod, from what is said of its containers."""

import pytest

from mooring.model.pod import Pod, PodPhase
from mooring.node.pods.container_statuses import statuses
from mooring.node.pods.phase import phase
from mooring.node.pods.view import Health, View, WaitingReason
from mooring.oci.contract import State
from tests.unit.node.pods.things import (
    FIRST,
    MAIN,
    OTHER,
    PROXY,
    a_found,
    a_pod,
    a_view,
    ended,
)

NEVER = {"restart_policy": "Never"}
ON_FAILURE = {"restart_policy": "OnFailure"}
CRASH = {"waiting_reasons": {"main": WaitingReason("CrashLoopBackOff", "", 2000.0)}}
PENDING, RUNNING = PodPhase.PENDING, PodPhase.RUNNING
SUCCEEDED, FAILED = PodPhase.SUCCEEDED, PodPhase.FAILED

PHASES: dict[str, tuple[View, PodPhase]] = {
    "nothing has started": (a_view(a_pod()), PENDING),
    "a container is made but does not run": (
        a_view(a_pod(), a_found("main", State.CREATED)),
        PENDING,
    ),
    "one of two has started": (a_view(a_pod(MAIN, OTHER), a_found("main")), PENDING),
    "both run": (a_view(a_pod(MAIN, OTHER), a_found("main"), a_found("other")), RUNNING),
    "one runs, one has ended": (
        a_view(a_pod(MAIN, OTHER, **NEVER), a_found("main"), ended("other", 1)),
        RUNNING,
    ),
    "a crash loop is running": (a_view(a_pod(), ended("main", 1), **CRASH), RUNNING),
    "all have succeeded": (
        a_view(a_pod(MAIN, OTHER, **NEVER), ended("main"), ended("other")),
        SUCCEEDED,
    ),
    "one of them has failed": (
        a_view(a_pod(MAIN, OTHER, **NEVER), ended("main"), ended("other", 1)),
        FAILED,
    ),
    "a failure will be retried": (a_view(a_pod(**ON_FAILURE), ended("main", 1)), RUNNING),
    "with policy Always even a success is not the end": (a_view(a_pod(), ended("main")), RUNNING),
    "an init container runs": (a_view(a_pod(init_containers=(FIRST,)), a_found("first")), PENDING),
    "an init container has failed for good": (
        a_view(a_pod(init_containers=(FIRST,), **NEVER), ended("first", 1)),
        FAILED,
    ),
    "an init container will be retried": (
        a_view(a_pod(init_containers=(FIRST,)), ended("first", 1)),
        PENDING,
    ),
    "a sidecar has not started": (
        a_view(
            a_pod(init_containers=(PROXY,)),
            a_found("proxy"),
            health={"proxy-0": Health(has_started=False)},
        ),
        PENDING,
    ),
    "a sidecar starts again beside what runs": (
        a_view(
            a_pod(init_containers=(PROXY,)),
            a_found("proxy", attempt=1),
            a_found("main"),
            health={"proxy-1": Health(has_started=False)},
        ),
        RUNNING,
    ),
    "only a sidecar still runs": (
        a_view(a_pod(init_containers=(PROXY,), **NEVER), a_found("proxy"), ended("main")),
        RUNNING,
    ),
    "a sidecar's end counts for nothing": (
        a_view(a_pod(init_containers=(PROXY,), **NEVER), ended("proxy", 1), ended("main")),
        SUCCEEDED,
    ),
}


@pytest.mark.parametrize(("view", "then"), PHASES.values(), ids=PHASES)
def test_phase(view: View, then: PodPhase) -> None:
    assert _phase(view) is then


def test_a_pod_that_ends_is_over_whatever_its_policy() -> None:
    assert _phase(a_view(a_pod(), ended("main", 143), is_ending=True), is_terminal=True) is FAILED
    assert _phase(a_view(a_pod(), ended("main", 0), is_ending=True), is_terminal=True) is SUCCEEDED


def _phase(view: View, *, is_terminal: bool = False) -> PodPhase:
    pod: Pod = view.pod
    return phase(
        pod,
        statuses(view, {}),
        is_terminal=is_terminal,
        has_initialized=view.has_initialized,
    )
