"""What is said of each container."""

from typing import Any

import msgspec
import pytest

from mooring.model.container_status import (
    ContainerState,
    ContainerStatus,
    Terminated,
    Waiting,
)
from mooring.model.pod import PodStatus
from mooring.node.pods.container_statuses import MESSAGE_NOTE, REASON_NOTE, statuses
from mooring.node.pods.status import Circumstances, document, status_of
from mooring.node.pods.view import Health, View, WaitingReason
from mooring.oci.contract import State
from tests.unit.node.pods.things import FIRST, MAIN, OTHER, a_found, a_pod, a_view, ended

TIME = "2026-01-02T03:04:05Z"
WORDS = {"main-0": "out of ideas", "main-1": "again"}


def an_end(code: int, reason: str, message: str = "", attempt: int = 0) -> dict[str, Any]:
    end: dict[str, Any] = {"reason": reason, "startedAt": TIME, "finishedAt": TIME}
    end |= {"containerID": f"mooring://main-{attempt}"}
    if code:
        end["exitCode"] = code
    if message:
        end["message"] = message
    return {"terminated": end}


CRASH = WaitingReason("CrashLoopBackOff", "back-off", 2000.0)
STATES: dict[str, tuple[View, dict[str, Any], dict[str, Any]]] = {
    "nothing is known of it": (a_view(a_pod()), {"waiting": {"reason": "ContainerCreating"}}, {}),
    "others have to run first": (
        a_view(a_pod(init_containers=(FIRST,))),
        {"waiting": {"reason": "PodInitializing"}},
        {},
    ),
    "something is in the way": (
        a_view(a_pod(), waiting_reasons={"main": WaitingReason("ErrImagePull", "no image", 0.0)}),
        {"waiting": {"reason": "ErrImagePull", "message": "no image"}},
        {},
    ),
    "it runs": (a_view(a_pod(), a_found("main")), {"running": {"startedAt": TIME}}, {}),
    "it has succeeded": (
        a_view(a_pod(restart_policy="Never"), ended("main")),
        an_end(0, "Completed", "out of ideas"),
        {},
    ),
    "it has failed": (
        a_view(a_pod(restart_policy="Never"), ended("main", 2)),
        an_end(2, "Error", "out of ideas"),
        {},
    ),
    "it had too little memory": (
        a_view(a_pod(restart_policy="Never"), ended("main", 137, is_oom_killed=True)),
        an_end(137, "OOMKilled", "out of ideas"),
        {},
    ),
    "nobody saw it end": (
        a_view(a_pod(restart_policy="Never"), ended("main", 0, is_lost=True)),
        an_end(
            137,
            "ContainerStatusUnknown",
            "The container could not be located when the pod was terminated",
        ),
        {},
    ),
    "it never ran": (
        a_view(
            a_pod(restart_policy="Never"),
            ended("main", 127, notes={REASON_NOTE: "StartError", MESSAGE_NOTE: "no program"}),
        ),
        an_end(127, "StartError", "no program"),
        {},
    ),
    "it waits to be started again": (
        a_view(a_pod(), ended("main", 2), waiting_reasons={"main": CRASH}),
        {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
        an_end(2, "Error", "out of ideas"),
    ),
    "it runs again": (
        a_view(a_pod(), a_found("main", attempt=1), ended("main", 2)),
        {"running": {"startedAt": TIME}},
        an_end(2, "Error", "out of ideas"),
    ),
    "it has ended again": (
        a_view(a_pod(restart_policy="Never"), ended("main", 3, 1), ended("main", 2)),
        an_end(3, "Error", "again", 1),
        an_end(2, "Error", "out of ideas"),
    ),
    "it ended with its pod, whatever was in the way": (
        a_view(a_pod(), ended("main", 2), waiting_reasons={"main": CRASH}, is_ending=True),
        an_end(2, "Error", "out of ideas"),
        {},
    ),
}


@pytest.mark.parametrize(("view", "state", "last"), STATES.values(), ids=STATES)
def test_states(view: View, state: dict[str, Any], last: dict[str, Any]) -> None:
    (told,) = statuses(view, WORDS).regular
    assert msgspec.to_builtins(told.state) == state
    assert msgspec.to_builtins(told.last_state) == last


READINESS = {
    "without probes it is ready at once": (None, True, True),
    "it has not started": (Health(has_started=False), False, False),
    "it is not ready": (Health(is_ready=False), True, False),
}


@pytest.mark.parametrize(("health", "started", "ready"), READINESS.values(), ids=READINESS)
def test_readiness(health: Health | None, *, started: bool, ready: bool) -> None:
    known = {} if health is None else {"main-0": health}
    (told,) = statuses(a_view(a_pod(), a_found("main"), health=known), {}).regular
    assert (told.started, told.ready) == (started, ready)


def test_an_init_container_is_ready_when_it_has_done_its_work() -> None:
    pod = a_pod(init_containers=(FIRST,))
    assert statuses(a_view(pod, ended("first")), {}).init[0].ready
    assert not statuses(a_view(pod, ended("first", 1)), {}).init[0].ready
    assert not statuses(a_view(pod, a_found("first")), {}).init[0].ready


def test_what_was_said_of_an_end_that_nobody_else_knows_is_said_on() -> None:
    last = ContainerState(terminated=Terminated(5, container_id="mooring://old"))
    waiting = ContainerState(waiting=Waiting("ContainerCreating"))
    said = ContainerStatus("main", waiting, last, restart_count=7)
    pod = msgspec.structs.replace(a_pod(), status=PodStatus(container_statuses=(said,)))
    (told,) = statuses(a_view(pod, a_found("main", attempt=8)), {}).regular
    assert (told.last_state, told.restart_count) == (last, 8)
    (told,) = statuses(a_view(pod), {}).regular
    assert (told.last_state, told.restart_count) == (last, 7)


def test_regular_containers_are_told_by_name_and_init_containers_in_order() -> None:
    pod = a_pod(OTHER, MAIN, init_containers=(OTHER, FIRST))
    told = statuses(a_view(pod), {})
    assert [one.name for one in told.regular] == ["main", "other"]
    assert [one.name for one in told.init] == ["other", "first"]


def test_a_status_written_and_read_again_is_the_same() -> None:
    """Else it would be written again and again."""
    view = a_view(a_pod(), a_found("main", attempt=1), ended("main", 0))
    status = status_of(view, Circumstances(TIME, "10.0.0.7", has_volumes=True))
    doc = document(view.pod, status)["status"]
    plain = {key: value for key, value in doc.items() if value is not None}
    assert msgspec.convert(plain, PodStatus) == status
    assert plain["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 0
    assert plain["podIPs"] == [{"ip": "10.0.0.7"}]


def test_a_container_that_is_made_waits() -> None:
    (told,) = statuses(a_view(a_pod(), a_found("main", State.CREATED)), {}).regular
    assert told.state.waiting == Waiting("ContainerCreating")
    assert told.container_id == ""
