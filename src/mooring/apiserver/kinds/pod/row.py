"""A pod as a line of a table: one word for the state of many containers."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column
from mooring.model.age import age
from mooring.model.document import Doc

COLUMNS = (
    NAME,
    Column("Ready", description="How many of its containers are ready."),
    Column("Status", description="One word for the state of its containers."),
    Column("Restarts", description="How often containers were restarted, and when last."),
    AGE,
    Column("IP", wide=True),
    Column("Node", wide=True),
    Column("Nominated Node", wide=True),
    Column("Readiness Gates", wide=True),
)


_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


class _Tally:
    """What is learnt while going through the containers."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""

    def count_restarts(self, status: Doc) -> None:
        self.restarts += status.get("restartCount", 0)
        ended = status.get("lastState", {}).get("terminated", {}).get("finishedAt") or ""
        # All times have the same form, so the later one is the greater text.
        self.last_restart = max(self.last_restart, ended)


def row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc.get("spec", {}), doc.get("status", {})
    tally = _Tally(_pod_state(status))
    sidecars = _sidecars(spec)
    if not _tally_initial(tally, spec, status, sidecars) or _is_true(status, "Initialized"):
        _tally_regular(tally, status, sidecars)
    total = len(spec.get("containers", ())) + len(sidecars)
    return [
        name_of(doc),
        f"{tally.ready}/{total}",
        _ending(doc, status) or tally.state,
        _restarts(tally, now),
        age_of(doc, now),
        _address(status) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def row_conditions(doc: Doc) -> list[Doc]:
    """Pods that will not run again are marked, so that clients may leave them out."""
    phase = doc.get("status", {}).get("phase")
    if phase in _COMPLETED:
        said = _COMPLETED[phase]
        return [{"type": "Completed", "status": "True", "reason": phase, "message": said}]
    return []


def _pod_state(status: Doc) -> str:
    state: str = status.get("reason") or status.get("phase", "")
    for condition in status.get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return state


def _sidecars(spec: Doc) -> set[str]:
    return {
        container.get("name", "")
        for container in spec.get("initContainers", ())
        if container.get("restartPolicy") == "Always"
    }


def _tally_initial(tally: _Tally, spec: Doc, status: Doc, sidecars: set[str]) -> bool:
    """Go through the containers that run first; whether one of them holds up the others."""
    total = len(spec.get("initContainers", ()))
    for index, container in enumerate(status.get("initContainerStatuses", ())):
        tally.count_restarts(container)
        state = container.get("state", {})
        ended, waiting = state.get("terminated"), state.get("waiting", {})
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if container.get("name") in sidecars and container.get("started"):
            tally.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            tally.state = f"Init:{_end_of(ended)}"
        elif waiting.get("reason", "PodInitializing") not in ("", "PodInitializing"):
            tally.state = f"Init:{waiting['reason']}"
        else:
            tally.state = f"Init:{index}/{total}"
        return True
    return False


def _tally_regular(tally: _Tally, status: Doc, sidecars: set[str]) -> None:
    """Go through the regular containers, last to first; restarts of finished ones count no more."""
    tally.restarts, tally.last_restart = 0, ""
    for container in status.get("initContainerStatuses", ()):
        if container.get("name") in sidecars:
            tally.count_restarts(container)
    running, failure = False, ""
    for container in reversed(status.get("containerStatuses", ())):
        tally.count_restarts(container)
        state = container.get("state", {})
        if reason := state.get("waiting", {}).get("reason"):
            tally.state = reason
        elif (ended := state.get("terminated")) is not None:
            tally.state = _end_of(ended)
            if ended.get("exitCode", 0) != 0:
                failure = tally.state
        elif container.get("ready") and "running" in state:
            running = True
            tally.ready += 1
    if tally.state == "Completed":
        if running and _is_true(status, "Ready"):
            tally.state = "Running"
        elif failure:
            tally.state = failure
        elif running:
            tally.state = "NotReady"


def _end_of(ended: Doc) -> str:
    if reason := ended.get("reason"):
        return str(reason)
    if signal := ended.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _ending(doc: Doc, status: Doc) -> str:
    if "deletionTimestamp" not in doc["metadata"]:
        return ""
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _restarts(tally: _Tally, now: str) -> str:
    if tally.restarts and tally.last_restart:
        return f"{tally.restarts} ({age(tally.last_restart, now)} ago)"
    return str(tally.restarts)


def _address(status: Doc) -> str:
    addresses: list[Doc] = status.get("podIPs", [])
    return addresses[0].get("ip", "") if addresses else ""


def _gates(spec: Doc, status: Doc) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    passed = sum(_is_true(status, gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}"


def _is_true(status: Doc, condition_type: str) -> bool:
    conditions: Iterable[Doc] = status.get("conditions", ())
    for condition in conditions:
        if condition.get("type") == condition_type:
            return condition.get("status") == "True"
    return False
