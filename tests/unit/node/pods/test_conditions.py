"""The conditions that a node sets."""

import msgspec

from mooring.model.condition import Condition
from mooring.model.pod import Pod, PodPhase, PodStatus, ReadinessGate
from mooring.node.pods.conditions import conditions
from mooring.node.pods.container_statuses import statuses
from mooring.node.pods.view import Health, View
from tests.unit.node.pods.things import FIRST, PROXY, a_found, a_pod, a_view, ended

GATE = ReadinessGate("example.com/ok")


def told(view: View, phase: PodPhase = PodPhase.RUNNING) -> dict[str, tuple[str, str, str]]:
    found = conditions(view.pod, statuses(view, {}), phase, "now", is_ready_to_start=True)
    return {one.type: (one.status, one.reason, one.message) for one in found}


def with_conditions(pod: Pod, *found: Condition) -> Pod:
    return msgspec.structs.replace(pod, status=PodStatus(conditions=found))


def test_a_pod_that_is_ready() -> None:
    assert told(a_view(a_pod(), a_found("main"))) == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"), ("True", "", "")
    )


def test_sidecars_have_to_be_ready_too() -> None:
    view = a_view(
        a_pod(init_containers=(PROXY,)),
        a_found("proxy"),
        a_found("main"),
        health={"proxy-0": Health(is_ready=False)},
    )
    unready = ("False", "ContainersNotReady", "containers with unready status: [proxy]")
    assert told(view)["ContainersReady"] == unready
    assert told(view)["Ready"] == unready


def test_a_pod_that_is_over_is_not_ready() -> None:
    view = a_view(a_pod(restart_policy="Never"), ended("main"))
    assert told(view, PodPhase.SUCCEEDED)["Ready"] == ("False", "PodCompleted", "")
    assert told(view, PodPhase.SUCCEEDED)["Initialized"] == ("True", "PodCompleted", "")
    assert told(view, PodPhase.FAILED)["ContainersReady"] == ("False", "PodFailed", "")


def test_init_containers_that_are_not_done() -> None:
    view = a_view(a_pod(init_containers=(FIRST,)), a_found("first"))
    text = "containers with incomplete status: [first]"
    assert told(view)["Initialized"] == ("False", "ContainersNotInitialized", text)


def test_gates_that_nobody_has_opened() -> None:
    pod = a_pod(readiness_gates=(GATE,))
    missing = 'corresponding condition of pod readiness gate "example.com/ok" does not exist.'
    view = a_view(pod, a_found("main"))
    assert told(view)["Ready"] == ("False", "ReadinessGatesNotReady", missing)
    assert told(view)["ContainersReady"] == ("True", "", "")
    closed = with_conditions(pod, Condition("example.com/ok", "False"))
    text = 'the status of pod readiness gate "example.com/ok" is not "True", but False'
    assert told(a_view(closed, a_found("main")))["Ready"][2] == text
    opened = with_conditions(pod, Condition("example.com/ok", "True"))
    assert told(a_view(opened, a_found("main")))["Ready"] == ("True", "", "")


def test_what_others_say_stays() -> None:
    pod = with_conditions(a_pod(), Condition("PodScheduled", "True", "why"))
    assert told(a_view(pod))["PodScheduled"] == ("True", "why", "")
