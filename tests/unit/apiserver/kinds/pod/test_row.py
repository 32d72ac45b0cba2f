from typing import Any

import pytest

from mooring.apiserver.kinds.pod.pod import POD
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, a_pod
from tests.unit.apiserver.kinds.writing import merged, printed

RUNNING: Doc = {"running": {}}
ENDED: Doc = {"terminated": {"exitCode": 0, "reason": "Completed"}}
READY = {"type": "Ready", "status": "True"}


def waiting(reason: str) -> Doc:
    return {"waiting": {"reason": reason}}


def ended(code: int, reason: str = "", signal: int = 0) -> Doc:
    end: Doc = {"exitCode": code, "reason": reason, "signal": signal}
    return {
        "terminated": {field: value for field, value in end.items() if value or field == "exitCode"}
    }


def container(state: Doc, name: str = "c", *, ready: bool = False, **fields: Any) -> Doc:
    return {"name": name, "state": state, "ready": ready, **fields}


def pod(
    *statuses: Doc,
    phase: str = "Running",
    initial: list[Doc] | None = None,
    sidecars: tuple[str, ...] = (),
    **status: Any,
) -> Doc:
    """A pod whose containers are in these states; `initial` are those that run first."""
    first = [
        a_container(
            name=state["name"], **({"restartPolicy": "Always"} if state["name"] in sidecars else {})
        )
        for state in initial or []
    ]
    return a_pod(
        *(a_container(name=state["name"]) for state in statuses or ({"name": "c"},)),
        initContainers=first,
        status={
            "phase": phase,
            "containerStatuses": list(statuses),
            "initContainerStatuses": initial or [],
            **status,
        },
    )


UP = container(RUNNING, ready=True)
STATES: dict[str, tuple[Doc, str]] = {
    "it starts as the phase": (pod(phase="Pending"), "Pending"),
    "a reason of the pod replaces the phase": (pod(phase="Failed", reason="Evicted"), "Evicted"),
    "a gated pod says so": (
        pod(
            phase="Pending",
            conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
        ),
        "SchedulingGated",
    ),
    "the first unfinished initial container is counted": (
        pod(
            phase="Pending",
            initial=[container(ENDED, "i1"), container(RUNNING, "i2"), container({}, "i3")],
        ),
        "Init:1/3",
    ),
    "one that waits for the pod only is counted too": (
        pod(phase="Pending", initial=[container(waiting("PodInitializing"), "i")]),
        "Init:0/1",
    ),
    "one that waits says why": (
        pod(phase="Pending", initial=[container(waiting("ErrImagePull"), "i")]),
        "Init:ErrImagePull",
    ),
    "one that failed says why": (
        pod(phase="Pending", initial=[container(ended(1, "Error"), "i")]),
        "Init:Error",
    ),
    "one that was killed says by what": (
        pod(phase="Pending", initial=[container(ended(137, signal=9), "i")]),
        "Init:Signal:9",
    ),
    "one that failed in silence shows its exit code": (
        pod(phase="Pending", initial=[container(ended(3), "i")]),
        "Init:ExitCode:3",
    ),
    "a sidecar that has started holds up nobody": (
        pod(UP, initial=[container(RUNNING, "s", started=True)], sidecars=("s",)),
        "Running",
    ),
    "a sidecar that has not started does": (
        pod(
            container(waiting("PodInitializing")),
            phase="Pending",
            initial=[container(RUNNING, "s", started=False)],
            sidecars=("s",),
        ),
        "Init:0/1",
    ),
    "an initialized pod shows its regular containers": (
        pod(
            container(waiting("CrashLoopBackOff")),
            initial=[container(RUNNING, "i")],
            conditions=[{"type": "Initialized", "status": "True"}],
        ),
        "CrashLoopBackOff",
    ),
    "a waiting container says why": (
        pod(container(waiting("ContainerCreating")), phase="Pending"),
        "ContainerCreating",
    ),
    "an ended one says why": (pod(container(ended(1, "Error"))), "Error"),
    "one that was killed": (pod(container(ended(137, signal=9))), "Signal:9"),
    "one that failed in silence": (pod(container(ended(2))), "ExitCode:2"),
    "of several the first is shown": (
        pod(container(waiting("A"), "a"), container(waiting("B"), "b")),
        "A",
    ),
    "a running one hides none before it": (
        pod(container(RUNNING, "a", ready=True), container(waiting("B"), "b")),
        "B",
    ),
    "one that completed while a ready pod runs on is running": (
        pod(container(ENDED, "a"), container(RUNNING, "b", ready=True), conditions=[READY]),
        "Running",
    ),
    "while an unready pod runs on it is not ready": (
        pod(container(ENDED, "a"), container(RUNNING, "b", ready=True)),
        "NotReady",
    ),
    "while another failed it has failed": (
        pod(container(ENDED, "a"), container(ended(1, "Error"), "b")),
        "Error",
    ),
    "all completed": (pod(container(ENDED), phase="Succeeded"), "Completed"),
}


@pytest.mark.parametrize(("given", "state"), STATES.values(), ids=STATES)
def test_status(given: Doc, state: str) -> None:
    assert printed(POD, given)["Status"] == state


DELETION = {"metadata": {"deletionTimestamp": "2026-01-02T03:04:00Z"}}
ENDINGS: dict[str, tuple[Doc, str]] = {
    "being deleted it is terminating, whatever its containers do": (
        pod(container(waiting("CrashLoopBackOff"))),
        "Terminating",
    ),
    "unless it has succeeded": (pod(container(ENDED), phase="Succeeded"), "Completed"),
    "or failed": (pod(phase="Failed", reason="Evicted"), "Evicted"),
    "when its node is lost nobody knows": (pod(UP, reason="NodeLost"), "Unknown"),
}


@pytest.mark.parametrize(("given", "state"), ENDINGS.values(), ids=ENDINGS)
def test_status_while_it_is_being_deleted(given: Doc, state: str) -> None:
    assert printed(POD, merged(given, DELETION))["Status"] == state


READINESS: dict[str, tuple[Doc, str]] = {
    "nothing is known yet": (pod(phase="Pending"), "0/1"),
    "ready containers of all": (
        pod(container(RUNNING, "a", ready=True), container(RUNNING, "b")),
        "1/2",
    ),
    "a ready one that does not run counts not": (pod(container({}, ready=True)), "0/1"),
    "sidecars count": (
        pod(
            UP,
            initial=[container(RUNNING, "s", started=True, ready=True)],
            sidecars=("s",),
        ),
        "2/2",
    ),
    "sidecars that are not ready count as such": (
        pod(UP, initial=[container(RUNNING, "s", started=True)], sidecars=("s",)),
        "1/2",
    ),
    "other initial containers do not": (
        pod(UP, initial=[container(ENDED, "i", ready=True)]),
        "1/1",
    ),
}


@pytest.mark.parametrize(("given", "ready"), READINESS.values(), ids=READINESS)
def test_ready(given: Doc, ready: str) -> None:
    assert printed(POD, given)["Ready"] == ready


def restarted(count: int, finished: str = "", name: str = "c", state: Doc = RUNNING) -> Doc:
    last = {"lastState": {"terminated": {"finishedAt": finished}}} if finished else {}
    return container(state, name, ready=True, restartCount=count, **last)


RESTARTS: dict[str, tuple[Doc, str]] = {
    "never": (pod(UP), "0"),
    "some time": (pod(restarted(2)), "2"),
    "and how long ago": (pod(restarted(2, "2026-01-02T03:00:05Z")), "2 (4m ago)"),
    "the newest counts": (
        pod(
            restarted(1, "2026-01-02T03:03:05Z", "a"),
            restarted(2, "2026-01-02T02:00:05Z", "b"),
        ),
        "3 (60s ago)",
    ),
    "an end without a restart is not told": (pod(restarted(0, "2026-01-02T03:00:05Z")), "0"),
    "while initializing, initial containers count": (
        pod(
            phase="Pending",
            initial=[restarted(4, "2026-01-02T03:00:05Z", "i")],
        ),
        "4 (4m ago)",
    ),
    "afterwards they do not": (
        pod(restarted(1), initial=[restarted(4, "2026-01-02T03:00:05Z", "i", ENDED)]),
        "1",
    ),
    "sidecars always count": (
        pod(
            restarted(1),
            initial=[{**restarted(4, "2026-01-02T03:00:05Z", "s"), "started": True}],
            sidecars=("s",),
        ),
        "5 (4m ago)",
    ),
}


@pytest.mark.parametrize(("given", "restarts"), RESTARTS.values(), ids=RESTARTS)
def test_restarts(given: Doc, restarts: str) -> None:
    assert printed(POD, given)["Restarts"] == restarts


def test_wide_cells_of_a_pod_that_is_nowhere() -> None:
    row = printed(POD, pod(phase="Pending"))
    names = [column.name for column in POD.columns if column.wide]
    assert names == ["IP", "Node", "Nominated Node", "Readiness Gates"]
    assert {row[name] for name in names} == {"<none>"}


def test_wide_cells_of_a_pod_that_is_somewhere() -> None:
    given = merged(
        pod(
            UP,
            podIPs=[{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            nominatedNodeName="n2",
            conditions=[
                {"type": "example.com/a", "status": "True"},
                {"type": "example.com/b", "status": "False"},
            ],
        ),
        {
            "spec": {
                "nodeName": "n1",
                "readinessGates": [
                    {"conditionType": "example.com/a"},
                    {"conditionType": "example.com/b"},
                    {"conditionType": "example.com/c"},
                ],
            }
        },
    )
    assert printed(POD, given) == {
        "Name": "web",
        "Ready": "1/1",
        "Status": "Running",
        "Restarts": "0",
        "Age": "27h",
        "IP": "10.0.0.1",
        "Node": "n1",
        "Nominated Node": "n2",
        "Readiness Gates": "1/3",
    }


def completed(reason: str, message: str) -> Doc:
    return {"type": "Completed", "status": "True", "reason": reason, "message": message}


CONDITIONS: dict[str, tuple[str, list[Doc]]] = {
    "a pod that runs may be of interest": ("Running", []),
    "one that succeeded is done": (
        "Succeeded",
        [completed("Succeeded", "The pod has completed successfully.")],
    ),
    "one that failed is done": (
        "Failed",
        [completed("Failed", "The pod failed.")],
    ),
}


@pytest.mark.parametrize(("phase", "conditions"), CONDITIONS.values(), ids=CONDITIONS)
def test_row_conditions(phase: str, conditions: list[Doc]) -> None:
    assert POD.row_conditions is not None
    assert POD.row_conditions(pod(phase=phase)) == conditions
