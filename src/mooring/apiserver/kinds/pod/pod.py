"""Pod: containers that run together on one node. Its rules are in the files beside this one."""

from mooring.apiserver.kinds.contract import Context, Kind, Subresource, SubresourceStrategy
from mooring.apiserver.kinds.pod.defaults import defaults
from mooring.apiserver.kinds.pod.ephemeral_containers import (
    keep_all_but_debuggers,
    validate_debuggers,
)
from mooring.apiserver.kinds.pod.row import COLUMNS, row, row_conditions
from mooring.apiserver.kinds.pod.update import validate_pod_status, validate_pod_update
from mooring.apiserver.kinds.pod.validation import validate_pod
from mooring.apiserver.kinds.pod.warnings import warnings
from mooring.apiserver.kinds.selectable import flag_in, text_in
from mooring.apiserver.kinds.separation import keep, keep_status
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, Quantity, parse

_ENDED = ("Succeeded", "Failed")
_QUALITY_RESOURCES = ("cpu", "memory")
_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")


def grace(doc: Doc, asked: int | None) -> int:
    """How many seconds a pod gets to end by itself, when a delete asked for so many (or did not).

    One that never reached a node, or has ended, needs none.
    """
    spec = doc.get("spec", {})
    if not spec.get("nodeName") or doc.get("status", {}).get("phase") in _ENDED:
        return 0
    seconds: int = spec.get("terminationGracePeriodSeconds", 0) if asked is None else asked
    return seconds if seconds >= 0 else 1


def quality_of_service(spec: Doc) -> str:
    """How safe its resources are: all guaranteed, some promised, or none at all."""
    if resources := spec.get("resources"):
        return _quality(resources)
    containers = [*spec.get("initContainers", ()), *spec.get("containers", ())]
    classes = {_quality(container.get("resources", {})) for container in containers}
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _quality(resources: Doc) -> str:
    requests, limits = resources.get("requests"), resources.get("limits")
    if not requests and not limits:
        return "BestEffort"
    classes = set()
    for name in _QUALITY_RESOURCES:
        request, limit = _amount(requests, name), _amount(limits, name)
        if request == limit:
            classes.add("BestEffort" if request == ZERO else "Guaranteed")
        else:
            return "Burstable"
    return classes.pop() if len(classes) == 1 else "Burstable"


def _amount(amounts: dict[str, str] | None, name: str) -> Quantity:
    text = (amounts or {}).get(name)
    return parse(text) if text else ZERO


def _prepare_create(doc: Doc, context: Context) -> None:
    spec = doc["spec"]
    status: Doc = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": context.now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    doc["status"] = status


def _prepare_status(new: Doc, old: Doc, _: Context) -> None:
    keep(new, old, "spec")
    # Old node agents garble the owners they send back; believing them would orphan pods.
    keep(new["metadata"], old["metadata"], "ownerReferences")
    quality = old.get("status", {}).get("qosClass")
    if quality and not new.get("status", {}).get("qosClass"):
        new.setdefault("status", {})["qosClass"] = quality


POD = Kind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    message="core.v1.Pod",
    namespaced=True,
    short_names=("po",),
    categories=("all",),
    status=True,
    subresources=(
        Subresource("attach", _CONNECT, "PodAttachOptions"),
        Subresource("binding", ("create",), "Binding"),
        Subresource("ephemeralcontainers", ("get", "patch", "update"), "Pod"),
        Subresource("eviction", ("create",), "Eviction", "policy", "v1"),
        Subresource("exec", _CONNECT, "PodExecOptions"),
        Subresource("log", ("get",), "Pod"),
        Subresource("portforward", _CONNECT, "PodPortForwardOptions"),
        Subresource("proxy", _PROXY, "PodProxyOptions"),
    ),
    strategies={
        "ephemeralcontainers": SubresourceStrategy(keep_all_but_debuggers, validate_debuggers)
    },
    columns=COLUMNS,
    row=row,
    row_conditions=row_conditions,
    defaults=defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=_prepare_status,
    validate=validate_pod,
    validate_update=validate_pod_update,
    validate_status=validate_pod_status,
    warnings=warnings,
    fields={
        "spec.nodeName": text_in("spec", "nodeName"),
        "spec.restartPolicy": text_in("spec", "restartPolicy"),
        "spec.schedulerName": text_in("spec", "schedulerName"),
        "spec.serviceAccountName": text_in("spec", "serviceAccountName"),
        "spec.hostNetwork": flag_in("spec", "hostNetwork"),
        "status.phase": text_in("status", "phase"),
        "status.podIP": text_in("status", "podIP"),
        "status.nominatedNodeName": text_in("status", "nominatedNodeName"),
    },
    generation=True,
    grace=grace,
)
