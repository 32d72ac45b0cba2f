"""What a node writes into a pod's status while the pod's volumes are coming. Pure."""

import msgspec

from mooring.client.contract import Doc
from mooring.model.condition import Condition, set_condition
from mooring.model.container import Container
from mooring.model.pod import Pod

INITIALIZING = "PodInitializing"
CREATING = "ContainerCreating"
_SIDECAR = "Always"


def creating(pod: Pod, now: str, host_address: str) -> Doc:
    """The status of a pod that this node has taken on, and whose containers do not exist yet."""
    spec = pod.spec
    reason = INITIALIZING if spec.init_containers else CREATING
    status: Doc = {
        "observedGeneration": pod.metadata.generation,
        "startTime": now,
        "conditions": [msgspec.to_builtins(one) for one in _conditions(pod, now)],
        "containerStatuses": [_waiting(one, reason) for one in spec.containers],
    }
    if spec.init_containers:
        status["initContainerStatuses"] = [_waiting(one, reason) for one in spec.init_containers]
    if host_address:
        status |= {"hostIP": host_address, "hostIPs": [{"ip": host_address}]}
    return {"status": status}


def rejected(reason: str, message: str) -> Doc:
    """The status of a pod that this node will not run."""
    status = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    return {"status": status}


def _conditions(pod: Pod, now: str) -> tuple[Condition, ...]:
    """Those that are there, and what can be said of containers that do not exist."""
    spec = pod.spec
    unready = [one.name for one in spec.init_containers if one.restart_policy == _SIDECAR]
    unready += (one.name for one in spec.containers)
    not_ready = f"containers with unready status: [{' '.join(unready)}]"
    initialized = Condition("Initialized", "True")
    if spec.init_containers:
        names = " ".join(one.name for one in spec.init_containers)
        text = f"containers with incomplete status: [{names}]"
        initialized = Condition("Initialized", "False", "ContainersNotInitialized", text)
    conditions = pod.status.conditions
    for wanted in (
        Condition("PodReadyToStartContainers", "False"),
        initialized,
        Condition("Ready", "False", "ContainersNotReady", not_ready),
        Condition("ContainersReady", "False", "ContainersNotReady", not_ready),
    ):
        observed = msgspec.structs.replace(wanted, observed_generation=pod.metadata.generation)
        conditions = set_condition(conditions, observed, now)
    return conditions


def _waiting(container: Container, reason: str) -> Doc:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": reason}},
    }
