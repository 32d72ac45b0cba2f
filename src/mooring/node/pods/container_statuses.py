"""What is said of each container in the status of its pod. Pure."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from mooring.model.container import Container
from mooring.model.container_status import (
    UNKNOWN_STATE,
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    Waiting,
)
from mooring.model.timestamp import to_seconds
from mooring.node.pods.restarts import shall_restart, shall_retry
from mooring.node.pods.view import View
from mooring.oci.contract import Found, State

INITIALIZING = "PodInitializing"
CREATING = "ContainerCreating"
UNKNOWN = "ContainerStatusUnknown"
START_ERROR = "StartError"
LOST_CODE = 137
LOST_TEXT = "The container could not be located when the pod was terminated"
ID_PREFIX = "mooring://"
REASON_NOTE = "mooring.dev/reason"  # of a container that never ran: why
MESSAGE_NOTE = "mooring.dev/message"


class Statuses(msgspec.Struct, frozen=True):
    """Of all containers of a pod."""

    init: tuple[ContainerStatus, ...]
    regular: tuple[ContainerStatus, ...]
    ephemeral: tuple[ContainerStatus, ...]

    @property
    def by_name(self) -> Mapping[str, ContainerStatus]:
        return {one.name: one for one in (*self.init, *self.regular, *self.ephemeral)}


def statuses(view: View, termination_messages: Mapping[str, str]) -> Statuses:
    """`termination_messages`: of containers that have ended, by id."""
    spec, old = view.pod.spec, view.pod.status
    regular = _group(view, termination_messages, spec.containers, old.container_statuses)
    joining = spec.ephemeral_containers
    return Statuses(
        tuple(
            _group(view, termination_messages, spec.init_containers, old.init_container_statuses)
        ),
        tuple(sorted(regular, key=lambda one: one.name)),
        tuple(_group(view, termination_messages, joining, old.ephemeral_container_statuses)),
    )


def _group(
    view: View,
    termination_messages: Mapping[str, str],
    containers: tuple[Container, ...],
    old: tuple[ContainerStatus, ...],
) -> Iterator[ContainerStatus]:
    said = {one.name: one for one in old}
    for container in containers:
        before = said.get(container.name, ContainerStatus(container.name))
        yield _status(view, termination_messages, container, before)


def _status(
    view: View,
    termination_messages: Mapping[str, str],
    container: Container,
    before: ContainerStatus,
) -> ContainerStatus:
    newest = view.newest(container.name)
    blank = ContainerStatus(
        container.name,
        ContainerState(waiting=Waiting(_default_reason(view))),
        before.last_state,
        started=False,
        restart_count=before.restart_count,
        image=container.image,
    )
    if newest is None:
        return _waiting(view, container, blank)
    told = replace(
        blank,
        restart_count=newest.owner.attempt,
        last_state=_last_state(view, termination_messages, newest, before),
        image_id=newest.image_id,
        container_id=f"{ID_PREFIX}{newest.id}",
    )
    match newest.state:
        case State.CREATED:
            return replace(blank, restart_count=newest.owner.attempt, last_state=told.last_state)
        case State.RUNNING:
            return _running(view, container, newest, told)
        case State.EXITED:
            ended = replace(
                told, state=ContainerState(terminated=terminated(newest, termination_messages))
            )
            if _will_run_again(view, container, newest):
                return _waiting(view, container, ended)
            return replace(ended, ready=_is_done(view, container, newest))


def terminated(found: Found, termination_messages: Mapping[str, str]) -> Terminated:
    """The `terminated` state of a container that has ended."""
    if found.is_lost:
        reason, message = UNKNOWN, LOST_TEXT
    elif found.is_oom_killed:
        reason, message = "OOMKilled", termination_messages.get(found.id, "")
    else:
        reason = "Completed" if found.exit_code == 0 else "Error"
        reason = found.notes.get(REASON_NOTE, reason)
        message = found.notes.get(MESSAGE_NOTE, termination_messages.get(found.id, ""))
    return Terminated(
        exit_code=LOST_CODE if found.is_lost else found.exit_code,
        reason=reason,
        message=message,
        started_at=None if found.started_at is None else to_seconds(found.started_at),
        finished_at=None if found.finished_at is None else to_seconds(found.finished_at),
        container_id=f"{ID_PREFIX}{found.id}",
    )


def _default_reason(view: View) -> str:
    return INITIALIZING if view.pod.spec.init_containers else CREATING


def _running(
    view: View, container: Container, found: Found, told: ContainerStatus
) -> ContainerStatus:
    health = view.health_of(found)
    since = found.started_at or found.created_at
    can_be_ready = container.is_sidecar or not _is_init(view, container)
    return replace(
        told,
        state=ContainerState(running=Running(to_seconds(since))),
        started=health.has_started,
        ready=health.has_started and health.is_ready and can_be_ready,
    )


def _will_run_again(view: View, container: Container, found: Found) -> bool:
    if view.is_ending or view.is_overdue:
        return False
    spec = view.pod.spec
    if any(each.name == container.name for each in spec.ephemeral_containers):
        return False
    if _is_init(view, container) and not container.is_sidecar:
        return found.exit_code != 0 and shall_retry(view.pod, container, found.exit_code)
    return shall_restart(view.pod, container, found.exit_code)


def _is_done(view: View, container: Container, found: Found) -> bool:
    """Of an init container: ready means that it has done its work."""
    is_ordinary = _is_init(view, container) and not container.is_sidecar
    return is_ordinary and found.exit_code == 0 and not found.is_lost


def _is_init(view: View, container: Container) -> bool:
    return any(each.name == container.name for each in view.pod.spec.init_containers)


def _waiting(view: View, container: Container, status: ContainerStatus) -> ContainerStatus:
    """It does not run though it should: why, if that is known."""
    why = view.waiting_reasons.get(container.name)
    if why is None or view.is_ending:
        return status
    last = status.state if status.state.terminated is not None else status.last_state
    waiting = ContainerState(waiting=Waiting(why.reason, why.message))
    return replace(status, state=waiting, last_state=last)


def _last_state(
    view: View, termination_messages: Mapping[str, str], newest: Found, before: ContainerStatus
) -> ContainerState:
    for older in view.found[newest.owner.container][1:]:
        if older.state is State.EXITED:
            return ContainerState(terminated=terminated(older, termination_messages))
    for known in (before.last_state, before.state):
        if known.terminated is not None and plain_id(known.terminated.container_id) != newest.id:
            return known
    return UNKNOWN_STATE


def plain_id(container_id: str) -> str:
    """The id of a container, without the name of its runtime."""
    return container_id.rpartition("//")[2]
