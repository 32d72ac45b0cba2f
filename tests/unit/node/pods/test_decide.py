"""What a pod's containers need next."""

import msgspec
import pytest

from mooring.model.container import Probe
from mooring.node.pods.decide import decide
from mooring.node.pods.plan import Discard, Kill, Pause, Postpone, Start, Step
from mooring.node.pods.view import Failed, Health, View, WaitingReason
from mooring.oci.contract import State
from tests.unit.node.pods.things import (
    FIRST,
    MAIN,
    OTHER,
    PROXY,
    SECOND,
    a_found,
    a_pod,
    a_view,
    deleting,
    ended,
)

INIT = {"init_containers": (FIRST, SECOND)}
SIDE = {"init_containers": (PROXY, SECOND)}
NEVER = {"restart_policy": "Never"}
ON_FAILURE = {"restart_policy": "OnFailure"}
CRASHED = {"pauses": {"main": Pause(10.0, 995.0)}}
SICK = {"health": {"main-0": Health(failed=Failed.LIVENESS)}}

STEPS: dict[str, tuple[View, list[str]]] = {
    "all regular containers start at once": (
        a_view(a_pod(MAIN, OTHER)),
        ["start main 0", "start other 0"],
    ),
    "what runs is left alone": (a_view(a_pod(), a_found("main")), []),
    "what is being started is not started twice": (a_view(a_pod(), busy=frozenset({"main"})), []),
    "the first init container comes first": (a_view(a_pod(**INIT)), ["start first 0"]),
    "an init container that runs keeps all others waiting": (
        a_view(a_pod(**INIT), a_found("first")),
        [],
    ),
    "the next init container follows one that succeeded": (
        a_view(a_pod(**INIT), ended("first")),
        ["start second 0"],
    ),
    "an init container that failed is tried again": (
        a_view(a_pod(**INIT), ended("first", 1)),
        ["start first 1"],
    ),
    "with policy OnFailure it is tried again, too": (
        a_view(a_pod(**INIT, **ON_FAILURE), ended("first", 1)),
        ["start first 1"],
    ),
    "with policy Never the pod is over": (a_view(a_pod(**INIT, **NEVER), ended("first", 1)), []),
    "regular containers follow the last init container": (
        a_view(a_pod(**INIT), ended("first"), ended("second")),
        ["start main 0"],
    ),
    "once there were regular containers, init containers are history": (
        a_view(a_pod(**INIT), ended("main", 1)),
        ["start main 1"],
    ),
    "a sidecar that runs does not keep the next one waiting": (
        a_view(a_pod(**SIDE), a_found("proxy")),
        ["start second 0"],
    ),
    "a sidecar that has not started does": (
        a_view(a_pod(**SIDE), a_found("proxy"), health={"proxy-0": Health(has_started=False)}),
        [],
    ),
    "a sidecar that ended is started again beside the init container that runs": (
        a_view(a_pod(**SIDE), ended("proxy", 1), a_found("second")),
        ["start proxy 1"],
    ),
    "a sidecar is started again even with policy Never": (
        a_view(a_pod(**SIDE, **NEVER), ended("proxy"), ended("second"), a_found("main")),
        ["start proxy 1"],
    ),
    "a sidecar that fails its liveness probe is killed": (
        a_view(
            a_pod(**SIDE),
            a_found("proxy"),
            ended("second"),
            a_found("main"),
            health={"proxy-0": Health(failed=Failed.LIVENESS)},
        ),
        ["kill proxy 30 Init container proxy failed liveness probe"],
    ),
    "what ends is started again": (a_view(a_pod(), ended("main")), ["start main 1"]),
    "the second time it has to wait": (
        a_view(a_pod(), ended("main", 1), **CRASHED),
        ["postpone main 10 until 1010"],
    ),
    "that is said once": (
        a_view(
            a_pod(),
            ended("main", 1),
            **CRASHED,
            waiting_reasons={"main": WaitingReason("CrashLoopBackOff", "", 1010.0)},
        ),
        [],
    ),
    "when the pause is over, it starts": (
        a_view(a_pod(), ended("main", 1), **CRASHED, now=1010.0),
        ["start main 1"],
    ),
    "policy OnFailure lets a failure start again": (
        a_view(a_pod(**ON_FAILURE), ended("main", 1)),
        ["start main 1"],
    ),
    "but not a success": (a_view(a_pod(**ON_FAILURE), ended("main")), []),
    "policy Never starts nothing again": (a_view(a_pod(**NEVER), ended("main", 1)), []),
    "a container's own policy is stronger": (
        a_view(
            a_pod(msgspec.structs.replace(MAIN, restart_policy="OnFailure"), **NEVER),
            ended("main", 1),
        ),
        ["start main 1"],
    ),
    "what was made but never run is made anew": (
        a_view(a_pod(), a_found("main", State.CREATED, 2)),
        ["start main 2 instead of main-2"],
    ),
    "a reason to wait is waited for": (
        a_view(a_pod(), waiting_reasons={"main": WaitingReason("ErrImagePull", "", 1005.0)}),
        [],
    ),
    "but not for ever": (
        a_view(a_pod(), waiting_reasons={"main": WaitingReason("ErrImagePull", "", 1000.0)}),
        ["start main 0"],
    ),
    "a container that fails its liveness probe is killed to be restarted": (
        a_view(a_pod(), a_found("main"), **SICK),
        ["kill main 30 Container main failed liveness probe, will be restarted"],
    ),
    "or only killed, with policy Never": (
        a_view(a_pod(**NEVER), a_found("main"), **SICK),
        ["kill main 30 Container main failed liveness probe"],
    ),
    "a probe may grant less time": (
        a_view(
            a_pod(
                msgspec.structs.replace(
                    MAIN, liveness_probe=Probe(termination_grace_period_seconds=3)
                )
            ),
            a_found("main"),
            **SICK,
        ),
        ["kill main 3 Container main failed liveness probe, will be restarted"],
    ),
    "when all are done, sidecars have to go": (
        a_view(a_pod(**SIDE, **NEVER), a_found("proxy"), ended("second"), ended("main")),
        ["kill proxy 30 Stopping container proxy"],
    ),
    "a container that joins starts beside init containers": (
        a_view(a_pod(**INIT, ephemeral_containers=(OTHER,)), a_found("first")),
        ["start other 0"],
    ),
    "and never again": (
        a_view(a_pod(ephemeral_containers=(OTHER,)), a_found("main"), ended("other", 1)),
        [],
    ),
    "older attempts are removed": (
        a_view(a_pod(), a_found("main", attempt=3), ended("main", 1, 2), ended("main", 1, 1)),
        ["discard main-1"],
    ),
    "a pod that ends kills what runs": (
        a_view(deleting(a_pod(MAIN, OTHER), 7), a_found("main"), ended("other"), is_ending=True),
        ["kill main 7 Stopping container main"],
    ),
    "removes what never ran": (
        a_view(a_pod(), a_found("main", State.CREATED), is_ending=True),
        ["discard main-0"],
    ),
    "starts nothing": (a_view(a_pod(), ended("main", 1), is_ending=True), []),
    "and has its sidecars end last": (
        a_view(
            a_pod(init_containers=(PROXY, FIRST)),
            a_found("proxy"),
            a_found("main"),
            is_ending=True,
        ),
        [
            "kill proxy 30 Stopping container proxy after main",
            "kill main 30 Stopping container main",
        ],
    ),
    "a pod that vanished has no time": (
        a_view(a_pod(), a_found("main"), is_ending=True, has_vanished=True),
        ["kill main 0 Stopping container main"],
    ),
    "a pod that is overdue ends": (
        a_view(a_pod(), a_found("main"), deadline=1000.0),
        ["kill main 30 Stopping container main"],
    ),
}


def told(step: Step) -> str:
    match step:
        case Start(container, attempt, leftovers):
            instead = f" instead of {' '.join(leftovers)}" if leftovers else ""
            return f"start {container.name} {attempt}{instead}"
        case Postpone(container, seconds, until):
            return f"postpone {container.name} {seconds:g} until {until:g}"
        case Kill(_, container, grace, message, after):
            last = f" after {' '.join(after)}" if after else ""
            return f"kill {container.name} {grace} {message}{last}"
        case Discard(found):
            return f"discard {found.id}"


@pytest.mark.parametrize(("given", "then"), STEPS.values(), ids=STEPS)
def test_steps(given: View, then: list[str]) -> None:
    assert [told(step) for step in decide(given).steps] == then


LOOKS = {
    "nothing to wait for": (a_view(a_pod(), a_found("main")), None),
    "the end of a pause": (a_view(a_pod(), ended("main", 1), **CRASHED), 1010.0),
    "the end of a reason to wait": (
        a_view(a_pod(), waiting_reasons={"main": WaitingReason("ErrImagePull", "", 1005.0)}),
        1005.0,
    ),
    "the pod's deadline": (a_view(a_pod(), a_found("main"), deadline=1060.0), 1060.0),
    "whichever comes first": (
        a_view(a_pod(), ended("main", 1), **CRASHED, deadline=1007.0),
        1007.0,
    ),
}


@pytest.mark.parametrize(("given", "then"), LOOKS.values(), ids=LOOKS)
def test_when_to_look_again(given: View, then: float | None) -> None:
    assert decide(given).look_at == then


OVER = {
    "a pod whose containers run is not over": (a_view(a_pod(), a_found("main")), False),
    "nor one that is being cleaned up": (
        a_view(a_pod(**NEVER), ended("main"), busy=frozenset({"main-7"})),
        False,
    ),
    "one that has done its work is": (a_view(a_pod(**NEVER), ended("main")), True),
    "and one that had no time to begin": (a_view(a_pod(), is_ending=True), True),
}


@pytest.mark.parametrize(("given", "then"), OVER.values(), ids=OVER)
def test_the_end(given: View, then: bool) -> None:  # noqa: FBT001  an expectation
    assert decide(given).is_over is then


PAUSES = {
    "the first end costs nothing, the next ten seconds": (None, Pause(10.0, 1000.0)),
    "each doubles the pause": (Pause(40.0, 900.0), Pause(80.0, 1000.0)),
    "up to five minutes": (Pause(300.0, 500.0), Pause(300.0, 1000.0)),
    "a long run makes good for all of it": (Pause(300.0, 100.0), Pause(10.0, 1000.0)),
}


@pytest.mark.parametrize(("before", "after"), PAUSES.values(), ids=PAUSES)
def test_pauses(before: Pause | None, after: Pause) -> None:
    """The container ended at 1000; time goes on until it may start."""
    pauses = {} if before is None else {"main": before}
    view = a_view(a_pod(), ended("main", 1), pauses=pauses)
    plan = decide(view)
    if plan.look_at is not None:
        view = a_view(a_pod(), ended("main", 1), pauses=pauses, now=plan.look_at)
        plan = decide(view)
    (step,) = plan.steps
    assert isinstance(step, Start)
    assert step.pause is not None
    assert step.pause.seconds == after.seconds
