"""What an object takes of the quotas of its namespace; pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.apiserver.admission.pod_amounts import Amounts, amounts_in, amounts_of_pod
from mooring.apiserver.kinds.contract import Kind
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, parse

_ONE = parse("1")
_BY_NAME: Final = frozenset(
    ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas")
) | {"secrets", "services"}
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_COMPUTED: Final = frozenset(
    ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
)
_OVER = ("Succeeded", "Failed")


def usage_of(kind: Kind, doc: Doc) -> Amounts:
    """By the names that a quota may give; of a pod that is over, only that it is there."""
    used: Amounts = {f"count/{kind.resource}": _ONE}
    if kind.group:
        return used
    if kind.plural in _BY_NAME:
        used[kind.plural] = _ONE
    match kind.plural:
        case "pods":
            used |= _of_pod(doc)
        case "persistentvolumeclaims":
            used |= _of_claim(doc)
        case "services":
            used |= _of_service(doc)
        case _:
            pass
    return used


def _of_pod(pod: Doc) -> Amounts:
    if pod.get("status", {}).get("phase") in _OVER:
        return {}
    used: Amounts = {"pods": _ONE}
    for name, amount in amounts_of_pod(pod, "requests").items():
        used |= {name: amount, f"requests.{name}": amount}
    for name, amount in amounts_of_pod(pod, "limits").items():
        used[f"limits.{name}"] = amount
    return used


def _of_claim(claim: Doc) -> Amounts:
    spec = claim.get("spec", {})
    storage = amounts_in(spec, "requests").get("storage", ZERO)
    if allocated := (claim.get("status", {}).get("allocatedResources") or {}).get("storage"):
        storage = max(storage, parse(allocated))  # it may have grown to that already
    used = {"requests.storage": storage}
    if name := spec.get("storageClassName"):
        used[f"{name}{_OF_CLASS}requests.storage"] = storage
        used[f"{name}{_OF_CLASS}persistentvolumeclaims"] = _ONE
    return used


def _of_service(service: Doc) -> Amounts:
    spec = service.get("spec", {})
    used: Amounts = {}
    if spec.get("type") == "LoadBalancer":
        used["services.loadbalancers"] = _ONE
    ports = len(spec.get("ports") or ())
    if spec.get("type") in ("NodePort", "LoadBalancer") and ports:
        used["services.nodeports"] = parse(str(ports))
    return used


def more(new: Amounts, old: Amounts) -> Amounts:
    """What a change takes beyond what the object took before."""
    differences = {name: amount - old.get(name, ZERO) for name, amount in new.items()}
    return {name: amount for name, amount in differences.items() if amount > ZERO}


def unspecified(hard: Iterable[str], pod: Doc) -> str:
    """What containers must ask for, since a quota counts it; "": nothing is missing."""
    wanted = sorted(_COMPUTED & set(hard))
    missing: dict[str, list[str]] = {}
    spec = pod["spec"]
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for name in wanted:
            part, _, resource = name.rpartition(".")
            if resource not in amounts_in(container, part or "requests"):
                missing.setdefault(name, []).append(container.get("name", ""))
    told = [f"{name} for: {','.join(sorted(names))}" for name, names in missing.items()]
    return f"must specify {'; '.join(told)}" if told else ""


def spelled(amounts: Mapping[str, object]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
