"""The conditions of a pod that its node is answerable for. Pure."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from mooring.model.condition import Condition, find_condition, set_condition
from mooring.model.pod import Pod, PodPhase
from mooring.node.pods.container_statuses import Statuses

READY = "Ready"
CONTAINERS_READY = "ContainersReady"
INITIALIZED = "Initialized"
READY_TO_START = "PodReadyToStartContainers"
_TERMINAL = {PodPhase.SUCCEEDED: "PodCompleted", PodPhase.FAILED: "PodFailed"}


def conditions(
    pod: Pod, statuses: Statuses, phase: PodPhase, now: str, *, is_ready_to_start: bool
) -> tuple[Condition, ...]:
    """All of them: those that others have set stay as they are."""
    result = pod.status.conditions
    is_ready = "True" if is_ready_to_start else "False"
    containers_ready = _containers_ready(pod, statuses, phase)
    for wanted in (
        Condition(READY_TO_START, is_ready),
        _initialized(pod, statuses, phase),
        _ready(pod, containers_ready),
        containers_ready,
    ):
        observed = replace(wanted, observed_generation=pod.metadata.generation)
        result = set_condition(result, observed, now)
    return result


def _containers_ready(pod: Pod, statuses: Statuses, phase: PodPhase) -> Condition:
    if phase in _TERMINAL:
        return Condition(CONTAINERS_READY, "False", _TERMINAL[phase])
    by_name = statuses.by_name
    counted = [each for each in pod.spec.init_containers if each.is_sidecar]
    unready = [
        each.name for each in (*counted, *pod.spec.containers) if not by_name[each.name].ready
    ]
    if not unready:
        return Condition(CONTAINERS_READY, "True")
    text = f"containers with unready status: {_listed(unready)}"
    return Condition(CONTAINERS_READY, "False", "ContainersNotReady", text)


def _ready(pod: Pod, containers_ready: Condition) -> Condition:
    if not containers_ready.is_true:
        return replace(containers_ready, type=READY)
    closed = tuple(_closed_gates(pod))
    if closed:
        return Condition(READY, "False", "ReadinessGatesNotReady", ", ".join(closed))
    return Condition(READY, "True")


def _closed_gates(pod: Pod) -> Iterator[str]:
    for gate in pod.spec.readiness_gates:
        found = find_condition(pod.status.conditions, gate.condition_type)
        kind = gate.condition_type
        if found is None:
            yield f'corresponding condition of pod readiness gate "{kind}" does not exist.'
        elif not found.is_true:
            yield f'the status of pod readiness gate "{kind}" is not "True", but {found.status}'


def _initialized(pod: Pod, statuses: Statuses, phase: PodPhase) -> Condition:
    if phase is PodPhase.SUCCEEDED:
        return Condition(INITIALIZED, "True", _TERMINAL[phase])
    has_run = any(one.state.running or one.state.terminated for one in statuses.regular)
    by_name = statuses.by_name
    incomplete = [
        each.name
        for each in pod.spec.init_containers
        if not (by_name[each.name].started if each.is_sidecar else by_name[each.name].ready)
    ]
    if has_run or not incomplete:
        return Condition(INITIALIZED, "True")
    text = f"containers with incomplete status: {_listed(incomplete)}"
    return Condition(INITIALIZED, "False", "ContainersNotInitialized", text)


def _listed(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"
