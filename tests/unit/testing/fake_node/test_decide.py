"""What becomes of a pod on a fake node."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mooring.model.pod import Pod
from mooring.testing.fake_node.decide import decide
from mooring.testing.fake_node.plan import LookAgain, Remove, SetStatus
from mooring.testing.fake_node.view import EXIT_CODE, RUNS_FOR, View, script_of

START = datetime(2030, 1, 1, tzinfo=UTC)


def _pod(policy: str = "Always", annotations: dict[str, str] | None = None, **status: Any) -> Pod:
    return msgspec.convert(
        {
            "metadata": {"name": "p", "namespace": "n", "annotations": annotations or {}},
            "spec": {
                "nodeName": "n1",
                "restartPolicy": policy,
                "containers": [{"name": "a", "image": "x"}],
                "initContainers": [{"name": "i", "image": "x"}],
            },
            "status": status,
        },
        Pod,
    )


def _after(pod: Pod, change: dict[str, Any]) -> Pod:
    status = {**msgspec.to_builtins(pod.status), **change}
    return msgspec.convert({**msgspec.to_builtins(pod), "status": status}, Pod)


def _play(pod: Pod, seconds: float = 0.0) -> tuple[Pod, list[str]]:
    """The pod when nothing is left to do, and why each step was taken."""
    reasons = []
    for _ in range(10):
        view = View(
            pod,
            script_of(pod.metadata.annotations),
            "10.244.0.1",
            START + timedelta(seconds=seconds),
        )
        decided = decide(view)
        reasons.append(decided.because)
        writes = [step for step in decided.steps if isinstance(step, SetStatus)]
        if not writes:
            return pod, reasons
        for step in writes:
            pod = _after(pod, step.status)
    raise AssertionError(f"it never comes to rest: {reasons}")


@pytest.mark.parametrize(
    ("policy", "annotations", "phase"),
    [
        ("Always", {}, "Running"),
        ("Never", {}, "Succeeded"),
        ("OnFailure", {}, "Succeeded"),
        ("Never", {EXIT_CODE: "3"}, "Failed"),
        ("OnFailure", {EXIT_CODE: "3"}, "Running"),
        ("Always", {EXIT_CODE: "3"}, "Running"),
        ("Never", {RUNS_FOR: "30"}, "Running"),
        ("Always", {RUNS_FOR: "0"}, "Running"),
        ("Never", {EXIT_CODE: "one"}, "Pending"),
    ],
)
def test_where_a_pod_comes_to_rest(policy: str, annotations: dict[str, str], phase: str) -> None:
    pod, reasons = _play(_pod(policy, annotations))
    assert pod.status.phase == phase, reasons


def test_a_running_pod_is_ready_and_has_an_address() -> None:
    pod, _ = _play(_pod())
    true = {one.type for one in pod.status.conditions if one.is_true}
    assert true >= {"Ready", "ContainersReady", "Initialized", "PodScheduled"}
    assert pod.status.pod_ip == "10.244.0.1"
    assert pod.status.container_statuses[0].ready
    init = pod.status.init_container_statuses[0].state.terminated
    assert init is not None
    assert init.exit_code == 0


def test_what_has_time_left_ends_after_it() -> None:
    pod, _ = _play(_pod("Never", {RUNS_FOR: "30"}))
    view = View(pod, script_of(pod.metadata.annotations), "", START + timedelta(seconds=10))
    assert decide(view).steps == (LookAgain(20.0),)
    ended, _ = _play(pod, 30)
    assert ended.status.phase == "Succeeded"


def test_what_crashes_is_not_ready_and_waits() -> None:
    pod, _ = _play(_pod("Always", {EXIT_CODE: "1"}))
    waiting = pod.status.container_statuses[0].state.waiting
    assert waiting is not None
    assert waiting.reason == "CrashLoopBackOff"
    assert "Ready" not in {one.type for one in pod.status.conditions if one.is_true}


def test_readiness_gates_keep_a_pod_unready_until_they_open() -> None:
    whole = msgspec.to_builtins(_pod())
    whole["spec"]["readinessGates"] = [{"conditionType": "door"}]
    pod, _ = _play(msgspec.convert(whole, Pod))
    assert "Ready" not in {one.type for one in pod.status.conditions if one.is_true}
    conditions = [msgspec.to_builtins(one) for one in pod.status.conditions]
    opened = _after(pod, {"conditions": [*conditions, {"type": "door", "status": "True"}]})
    opened, _ = _play(opened)
    assert "Ready" in {one.type for one in opened.status.conditions if one.is_true}


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded"])
def test_what_is_deleted_goes_in_any_phase(phase: str) -> None:
    whole = msgspec.to_builtins(_pod(phase=phase))
    whole["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    pod = msgspec.convert(whole, Pod)
    assert decide(View(pod, script_of({}), "", START)).steps == (Remove(pod),)


def test_what_has_ended_is_left_alone() -> None:
    pod, _ = _play(_pod("Never"))
    assert decide(View(pod, script_of({}), "", START)).steps == ()


def test_annotations_that_are_no_numbers_are_told() -> None:
    pod, _ = _play(_pod("Never", {RUNS_FOR: "long"}))
    assert RUNS_FOR in pod.status.message
