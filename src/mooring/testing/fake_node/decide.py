"""What becomes of a pod on a fake node: one step from Pending to Running, to its end.

A pod that restarts always runs until it is deleted. Any other succeeds at once, or after the time
that its annotation gives it. An exit code other than 0 fails it; where it is to be restarted, it
crashes and waits (CrashLoopBackOff).
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from mooring.model.condition import Condition, is_condition_true, set_condition
from mooring.model.container import Container
from mooring.model.document import Doc
from mooring.model.pod import Pod, PodPhase
from mooring.model.steps import plan
from mooring.model.timestamp import to_seconds
from mooring.testing.fake_node.plan import LookAgain, Plan, Remove, SetStatus
from mooring.testing.fake_node.view import View

ADDRESS = "192.0.2.1"  # of every fake node; nobody has it
CRASHED = "CrashLoopBackOff"


def decide(view: View) -> Plan:
    pod = view.pod
    if pod.metadata.deletion_timestamp is not None:
        return plan("it is being deleted, and nothing really runs", Remove(pod))
    if pod.is_finished:
        return plan("it has ended")
    if view.script.trouble:
        return plan("its annotations cannot be understood", *_refuse(view))
    if pod.status.phase is PodPhase.PENDING:
        return plan("it was given to this node", SetStatus(pod, _running(view)))
    return _decide_running(view)


def _decide_running(view: View) -> Plan:
    pod, script = view.pod, view.script
    is_restarted = pod.spec.restart_policy in ("", "Always")
    if _has_crashed(pod):
        return plan("its containers have crashed")
    left = (script.runs_for or 0.0) - _seconds_since_start(view)
    if left > 0:
        return plan("its containers have time left", *_ready(view), LookAgain(left))
    if script.exit_code and pod.spec.restart_policy != "Never":
        return plan("its containers crash", SetStatus(pod, _crashed(view)))
    if is_restarted:
        return plan("it runs until it is deleted", *_ready(view))
    return plan("its containers have ended", SetStatus(pod, _ended(view)))


def _refuse(view: View) -> tuple[SetStatus, ...]:
    if view.pod.status.message == view.script.trouble:
        return ()
    told = {"phase": "Pending", "reason": "BadAnnotation", "message": view.script.trouble}
    return (SetStatus(view.pod, told),)


def _seconds_since_start(view: View) -> float:
    started = view.pod.status.start_time
    if started is None:
        return 0.0
    return (view.now - datetime.fromisoformat(started)).total_seconds()


def _has_crashed(pod: Pod) -> bool:
    return any(
        one.state.waiting is not None and one.state.waiting.reason == CRASHED
        for one in pod.status.container_statuses
    )


def _ready(view: View) -> tuple[SetStatus, ...]:
    """A readiness gate may have opened."""
    pod = view.pod
    is_ready = is_condition_true(pod.status.conditions, "Ready")
    if is_ready == _gates_are_open(pod):
        return ()
    return (SetStatus(pod, {"conditions": _conditions(view, ready=not is_ready)}),)


def _gates_are_open(pod: Pod) -> bool:
    return all(
        is_condition_true(pod.status.conditions, gate.condition_type)
        for gate in pod.spec.readiness_gates
    )


# statuses


def _running(view: View) -> Doc:
    now = to_seconds(view.now)
    state = {"running": {"startedAt": now}}
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": view.ip,
        "podIPs": [{"ip": view.ip}],
        "hostIP": ADDRESS,
        "hostIPs": [{"ip": ADDRESS}],
        "conditions": _conditions(view, ready=_gates_are_open(view.pod)),
        "initContainerStatuses": _init_containers(view),
        "containerStatuses": _containers(view.pod.spec.containers, state, ready=True),
    }


def _crashed(view: View) -> Doc:
    ended = _terminated(view, view.script.exit_code, "Error")
    waiting = {"waiting": {"reason": CRASHED, "message": "the pod's annotation says so"}}
    statuses = _containers(view.pod.spec.containers, waiting, ready=False)
    crashed = [{**one, "lastState": ended, "restartCount": 1} for one in statuses]
    return {
        "phase": "Running",
        "conditions": _conditions(view, ready=False),
        "containerStatuses": crashed,
    }


def _ended(view: View) -> Doc:
    code = view.script.exit_code
    state = _terminated(view, code, "Error" if code else "Completed")
    why = "PodFailed" if code else "PodCompleted"
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": _conditions(view, ready=False, reason=why),
        "containerStatuses": _containers(view.pod.spec.containers, state, ready=False),
    }


def _conditions(view: View, *, ready: bool, reason: str = "") -> list[Doc]:
    now, told = to_seconds(view.now), view.pod.status.conditions
    status = "True" if ready else "False"
    for wanted in (
        Condition("PodReadyToStartContainers", "False" if reason else "True"),
        Condition("Initialized", "True", reason if reason == "PodCompleted" else ""),
        Condition("Ready", status, reason),
        Condition("ContainersReady", status, reason),
        Condition("PodScheduled", "True"),
    ):
        told = set_condition(told, wanted, now)
    return [msgspec.to_builtins(one) for one in told]


def _init_containers(view: View) -> list[Doc]:
    ended = _terminated(view, 0, "Completed")
    running = {"running": {"startedAt": to_seconds(view.now)}}
    return [
        _container(one, running if one.restart_policy == "Always" else ended, ready=True)
        for one in view.pod.spec.init_containers
    ]


def _containers(containers: Iterable[Container], state: Doc, *, ready: bool) -> list[Doc]:
    return [_container(one, state, ready=ready) for one in containers]


def _container(container: Container, state: Doc, *, ready: bool) -> Doc:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "state": state,
        "ready": ready,
        "started": "running" in state,
        "restartCount": 0,
    }


def _terminated(view: View, code: int, reason: str) -> Doc:
    now = to_seconds(view.now)
    times = {"startedAt": view.pod.status.start_time or now, "finishedAt": now}
    return {"terminated": {"exitCode": code, "reason": reason, **times}}
