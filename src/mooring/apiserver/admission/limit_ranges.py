"""Limit ranges: pods get defaults, and pods and claims stay within what a namespace allows."""

from collections.abc import Iterable, Iterator

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.admission.pod_amounts import Amounts, amounts_in, amounts_of_pod
from mooring.apiserver.kinds.limit_range import CLAIM, CONTAINER, POD
from mooring.apiserver.request.refusals import forbidden
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, Quantity, parse

ANNOTATION = "kubernetes.io/limit-ranger"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))


def give_defaults(attributes: AdmissionAttributes, objects: Objects) -> None:
    """On create of a pod."""
    pod = attributes.new
    if pod is None:
        return
    told: list[str] = []
    for limit in _limits(attributes, objects, CONTAINER):
        for field, word in _CONTAINERS:
            for container in pod["spec"].get(field) or ():
                told += _defaulted(container, limit, word)
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(told)


def _defaulted(container: Doc, limit: Doc, word: str) -> Iterator[str]:
    resources = container.setdefault("resources", {})
    for part, field, what in (
        ("requests", "defaultRequest", "request"),
        ("limits", "default", "limit"),
    ):
        given = resources.get(part) or {}
        missing = {k: v for k, v in (limit.get(field) or {}).items() if k not in given}
        if missing:
            resources[part] = {**given, **missing}
            yield f"{', '.join(sorted(missing))} {what} for {word} {container.get('name', '')}"


def check(attributes: AdmissionAttributes, objects: Objects) -> None:
    """Of pods on create; of claims on both writes."""
    if attributes.new is None:
        return
    of = _of_pod if attributes.kind.plural == "pods" else _of_claim
    problems = list(of(attributes.new, attributes, objects))
    if problems:
        told = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise forbidden(attributes.kind, attributes.name, told)


def _of_claim(claim: Doc, attributes: AdmissionAttributes, objects: Objects) -> Iterator[str]:
    requests = amounts_in(claim["spec"], "requests")
    for limit in _limits(attributes, objects, CLAIM):
        for name, least in _bounds(limit, "min"):
            yield from _below(CLAIM, name, least, requests, {})
        for name, most in _bounds(limit, "max"):
            asked, start = requests.get(name), f"maximum {name} usage per {CLAIM} is {most}"
            if asked is None:
                yield f"{start}.  No request is specified"
            elif asked > most:
                yield f"{start}, but request is {asked}"


def _of_pod(pod: Doc, attributes: AdmissionAttributes, objects: Objects) -> Iterator[str]:
    for limit in _limits(attributes, objects, CONTAINER):
        for field, _ in _CONTAINERS:
            for each in pod["spec"].get(field) or ():
                amounts = amounts_in(each, "requests"), amounts_in(each, "limits")
                yield from _within(CONTAINER, limit, *amounts)
    for limit in _limits(attributes, objects, POD):
        amounts = amounts_of_pod(pod, "requests"), amounts_of_pod(pod, "limits")
        yield from _within(POD, limit, *amounts)


def _within(kind: str, limit: Doc, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in _bounds(limit, "min"):
        yield from _below(kind, name, least, requests, limits)
    for name, most in _bounds(limit, "max"):
        yield from _above(kind, name, most, requests, limits)
    for name, ratio in _bounds(limit, "maxLimitRequestRatio"):
        yield from _stretched(kind, name, ratio, requests, limits)


def _below(
    kind: str, name: str, least: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    start = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        yield f"{start}.  No request is specified"
    elif requests[name] < least:
        yield f"{start}, but request is {requests[name]}"
    elif name in limits and limits[name] < least:
        yield f"{start}, but limit is {limits[name]}"


def _above(
    kind: str, name: str, most: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    start = f"maximum {name} usage per {kind} is {most}"
    if name not in limits:
        yield f"{start}.  No limit is specified"
    elif limits[name] > most:
        yield f"{start}, but limit is {limits[name]}"
    elif name in requests and requests[name] > most:
        yield f"{start}, but request is {requests[name]}"


def _stretched(
    kind: str, name: str, most: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    start = f"{name} max limit to request ratio per {kind} is {most}"
    asked, limit = requests.get(name, ZERO), limits.get(name, ZERO)
    if asked == ZERO:
        yield f"{start}, but no request is specified or request is 0"
    elif limit == ZERO:
        yield f"{start}, but no limit is specified or limit is 0"
    elif limit.value / asked.value > most.value:
        ratio = float(limit.value / asked.value)
        yield f"{start}, but provided ratio is {ratio:f}"


def _limits(attributes: AdmissionAttributes, objects: Objects, kind: str) -> Iterator[Doc]:
    for found in objects.all("limitranges", attributes.namespace):
        for limit in found.get("spec", {}).get("limits") or ():
            if limit.get("type") == kind:
                yield limit


def _bounds(limit: Doc, field: str) -> Iterable[tuple[str, Quantity]]:
    given = limit.get(field) or {}
    return [(name, parse(given[name])) for name in sorted(given)]
