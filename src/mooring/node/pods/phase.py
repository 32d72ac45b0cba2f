"""The phase of a pod, from what is said of its containers. Pure."""

from mooring.model.container import Container
from mooring.model.container_status import ContainerStatus, Terminated
from mooring.model.pod import Pod, PodPhase
from mooring.node.pods.container_statuses import Statuses
from mooring.node.pods.restarts import shall_restart, shall_retry


def phase(pod: Pod, statuses: Statuses, *, is_terminal: bool, has_initialized: bool) -> PodPhase:
    """`is_terminal`: nothing will be started again, whatever the policy says.

    `has_initialized`: a regular container has been started.
    """
    by_name = statuses.by_name
    init = [(each, by_name[each.name]) for each in pod.spec.init_containers]
    regular = [(each, by_name[each.name]) for each in pod.spec.containers]
    ordinary = [(each, one) for each, one in init if not each.is_sidecar]
    sidecars = [(each, one) for each, one in init if each.is_sidecar]
    for container, status in ordinary:
        end = _end(status)
        if end is None or end.exit_code == 0:
            continue
        if not shall_retry(pod, container, end.exit_code):
            return PodPhase.FAILED
    is_pending = any(_is_init_pending(status) for _, status in ordinary)
    is_starting = any(_is_sidecar_pending(status) for _, status in sidecars)
    waiting = any(_is_new(status) for _, status in (*sidecars, *regular))
    if is_pending or (is_starting and not has_initialized) or waiting:
        return PodPhase.PENDING
    if any(status.state.running is not None for _, status in (*sidecars, *regular)):
        return PodPhase.RUNNING
    if is_terminal or not any(_will_restart(pod, *one) for one in regular):
        succeeded = all(_has_succeeded(status) for _, status in regular)
        return PodPhase.SUCCEEDED if succeeded else PodPhase.FAILED
    return PodPhase.RUNNING


def _end(status: ContainerStatus) -> Terminated | None:
    """How it ended, now or, while it waits to be started again, the last time."""
    if status.state.waiting is not None:
        return status.last_state.terminated
    return status.state.terminated


def _is_new(status: ContainerStatus) -> bool:
    """Waits, and has never run."""
    return status.state.running is None and _end(status) is None


def _is_init_pending(status: ContainerStatus) -> bool:
    return status.state.running is not None or _is_new(status)


def _is_sidecar_pending(status: ContainerStatus) -> bool:
    if status.state.running is not None:
        return not status.started
    return _is_new(status)


def _will_restart(pod: Pod, container: Container, status: ContainerStatus) -> bool:
    end = _end(status)
    return end is not None and shall_restart(pod, container, end.exit_code)


def _has_succeeded(status: ContainerStatus) -> bool:
    return status.state.terminated is not None and status.state.terminated.exit_code == 0
