"""The status of a pod, as its node writes it. Pure: a view in, a document out."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from mooring.model.container import Container
from mooring.model.container_status import ContainerState, ContainerStatus
from mooring.model.document import Doc
from mooring.model.pod import Pod, PodPhase, PodStatus
from mooring.node.pods.conditions import conditions
from mooring.node.pods.container_statuses import Statuses, statuses
from mooring.node.pods.phase import phase
from mooring.node.pods.view import View

DEADLINE_EXCEEDED = "DeadlineExceeded"
DEADLINE_TEXT = "Pod was active on the node longer than the specified deadline"


class Circumstances(msgspec.Struct, frozen=True):
    """What the status of a pod depends on beside its containers."""

    now: str
    address: str = ""  # of the node, and so of its pods
    has_volumes: bool = False  # so its containers may start
    termination_messages: Mapping[str, str] = {}  # of containers that have ended, by id


def status_of(view: View, around: Circumstances) -> PodStatus:
    """What is to be said of the pod now; the rest of its status stays as it is."""
    pod = view.pod
    told = statuses(view, around.termination_messages)
    now_phase, reason, message = _phase(view, told)
    is_over = now_phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
    return replace(
        pod.status,
        phase=now_phase,
        reason=reason,
        message=message,
        conditions=conditions(
            pod,
            told,
            now_phase,
            around.now,
            is_ready_to_start=around.has_volumes and not is_over,
        ),
        init_container_statuses=told.init,
        container_statuses=told.regular,
        ephemeral_container_statuses=told.ephemeral,
        start_time=pod.status.start_time or around.now,
        host_ip=around.address,
        pod_ip=around.address if around.has_volumes else pod.status.pod_ip,
        observed_generation=pod.metadata.generation,
    )


def _phase(view: View, told: Statuses) -> tuple[PodPhase, str, str]:
    """Phase, reason and message; a pod that is over stays so."""
    old = view.pod.status
    if view.pod.is_finished:
        return old.phase, old.reason, old.message
    if view.is_overdue and view.is_empty:
        return PodPhase.FAILED, DEADLINE_EXCEEDED, DEADLINE_TEXT
    new = phase(
        view.pod,
        told,
        is_terminal=view.is_ending and view.is_empty,
        has_initialized=view.has_initialized,
    )
    return (new, old.reason, old.message) if new is old.phase else (new, "", "")


def document(pod: Pod, status: PodStatus) -> Doc:
    """The patch that makes `status` the pod's."""
    told: Doc = {
        "phase": str(status.phase),
        "reason": status.reason or None,
        "message": status.message or None,
        "observedGeneration": status.observed_generation,
        "startTime": status.start_time,
        "conditions": msgspec.to_builtins(status.conditions),
        "containerStatuses": _documents(pod.spec.containers, status.container_statuses),
    }
    if pod.spec.init_containers:
        told["initContainerStatuses"] = _documents(
            pod.spec.init_containers, status.init_container_statuses
        )
    if pod.spec.ephemeral_containers:
        told["ephemeralContainerStatuses"] = _documents(
            pod.spec.ephemeral_containers, status.ephemeral_container_statuses
        )
    if status.host_ip:
        told |= {"hostIP": status.host_ip, "hostIPs": [{"ip": status.host_ip}]}
    if status.pod_ip:
        told |= {"podIP": status.pod_ip, "podIPs": [{"ip": status.pod_ip}]}
    return {"status": told}


def creating_document(pod: Pod, now: str, host_address: str) -> Doc:
    """The status of a pod that this node has taken on, and whose volumes are coming."""
    return document(pod, status_of(View(pod, 0.0), Circumstances(now, host_address)))


def rejected_document(reason: str, message: str) -> Doc:
    """The status of a pod that this node will not run."""
    status = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    return {"status": status}


def _documents(containers: Iterable[Container], statuses: Iterable[ContainerStatus]) -> list[Doc]:
    by_name = {each.name: each for each in containers}
    return [_document(by_name[one.name], one) for one in statuses]


def _document(container: Container, status: ContainerStatus) -> Doc:
    """With all that readers take for granted, even where it says nothing."""
    doc: Doc = {
        "name": status.name,
        "image": status.image,
        "imageID": status.image_id,
        "ready": status.ready,
        "started": status.started,
        "restartCount": status.restart_count,
        "state": _state(status.state),
    }
    if status.last_state.terminated is not None:
        doc["lastState"] = _state(status.last_state)
    if status.container_id:
        doc["containerID"] = status.container_id
    if container.volume_mounts:
        doc["volumeMounts"] = [
            {"name": each.name, "mountPath": each.mount_path}
            | ({"readOnly": True, "recursiveReadOnly": "Disabled"} if each.read_only else {})
            for each in container.volume_mounts
        ]
    return doc


def _state(state: ContainerState) -> Doc:
    doc: Doc = msgspec.to_builtins(state)
    if state.terminated is not None:
        doc["terminated"].setdefault("exitCode", 0)
    return doc
