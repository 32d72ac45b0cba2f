"""What may change in a pod that exists: little on the main path, the rest through subresources."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.immutability import changes, same, validate_unchanged
from mooring.apiserver.kinds.pod.validation import ADDRESS_TEXT, is_address
from mooring.apiserver.kinds.volume_health import validate_pod_health
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid
from mooring.model.names import dns_subdomain

_ONLY = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED_RULES = "requiredDuringSchedulingIgnoredDuringExecution"
_REQUIREMENTS = ("matchExpressions", "matchFields")
_STATUSES = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}


_FIXED_ANNOTATIONS = {  # by prefix: mirror pods and AppArmor
    "kubernetes.io/config.mirror": "mirror pod annotation",
    "container.apparmor.security.beta.kubernetes.io/": "AppArmor annotations",
}


def validate_annotations_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    """On every path: a node writes the status, and metadata with it."""
    now = new["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    for key in sorted(now.keys() | before.keys()):
        what = next((w for prefix, w in _FIXED_ANNOTATIONS.items() if key.startswith(prefix)), None)
        if what is None or now.get(key) == before.get(key):
            continue
        verb = "remove or update" if key in before else "add"
        yield forbidden(f"metadata.annotations[{key}]", f"may not {verb} {what}")


def validate_pod_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from validate_annotations_update(new, old)
    now, before = new["spec"], old["spec"]
    if now == before:
        return
    for field in ("containers", "initContainers"):
        if len(now.get(field, ())) != len(before.get(field, ())):
            yield forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
    yield from _validate_deadline(now, before)
    yield from _validate_tolerations(now, before)
    yield from _validate_gates(now, before)
    allowed = _with_allowed_changes(now, before)
    if before.get("schedulingGates"):
        yield from _validate_gated(now, before)
        allowed = _with_gated_changes(allowed, now)
    if not same(now, allowed):
        yield forbidden("spec", f"{_ONLY}\n{changes(now, allowed, 'spec')}")


def _validate_deadline(now: Doc, before: Doc) -> Iterable[FieldError]:
    field = "spec.activeDeadlineSeconds"
    deadline, earlier = now.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if earlier is None:
        return
    if deadline is None:
        yield invalid(field, None, "must not update from a positive integer to nil value")
    elif deadline > earlier:
        yield invalid(field, deadline, "must be less than or equal to previous value")


def _validate_tolerations(now: Doc, before: Doc) -> Iterable[FieldError]:
    """Every toleration stays, though its time may change; new ones may join."""
    kept = [_without_seconds(toleration) for toleration in now.get("tolerations", ())]
    for toleration in before.get("tolerations", ()):
        if _without_seconds(toleration) not in kept:
            yield forbidden(
                "spec.tolerations",
                "existing toleration can not be modified except its tolerationSeconds",
            )
            return


def _without_seconds(toleration: Doc) -> Doc:
    return {
        field: value
        for field, value in toleration.items()
        if field != "tolerationSeconds" and value
    }


def _validate_gates(now: Doc, before: Doc) -> Iterable[FieldError]:
    known = {gate.get("name") for gate in before.get("schedulingGates", ())}
    for index, gate in enumerate(now.get("schedulingGates", ())):
        if (name := gate.get("name")) not in known:
            yield forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{name}'",
            )


def _with_allowed_changes(now: Doc, before: Doc) -> Doc:
    """The stored spec with everything new in it that may be new; each has its own rule above."""
    allowed = dict(before)
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _take(allowed, now, field)
    for field in ("containers", "initContainers"):
        if field in before:
            allowed[field] = [
                {**container, "image": newer.get("image")}
                for container, newer in zip(before[field], now[field], strict=True)
            ]
    grace, earlier = (spec.get("terminationGracePeriodSeconds", 0) for spec in (now, before))
    if earlier < 0 and grace == 1:
        allowed["terminationGracePeriodSeconds"] = 1
    return allowed


def _take(allowed: Doc, now: Doc, field: str) -> None:
    if field in now:
        allowed[field] = now[field]
    else:
        allowed.pop(field, None)


def _validate_gated(now: Doc, before: Doc) -> Iterable[FieldError]:
    """Before it is let in, a pod may still narrow down where it wants to run."""
    selector = now.get("nodeSelector", {})
    if not before.get("nodeSelector", {}).items() <= selector.items():
        yield invalid(
            "spec.nodeSelector",
            selector,
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        )
    terms, earlier = _node_terms(now), _node_terms(before)
    path = f"spec.affinity.nodeAffinity.{_REQUIRED_RULES}.nodeSelectorTerms"
    if earlier and len(terms) != len(earlier):
        yield invalid(
            path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        )
        return
    for index, (term, old) in enumerate(zip(terms, earlier, strict=False)):
        if not _only_adds(term, old):
            yield invalid(
                f"{path}[{index}]", term, "only additions are allowed (no mutations or deletions)"
            )


def _node_terms(spec: Doc) -> list[Doc]:
    rules = spec.get("affinity", {}).get("nodeAffinity", {}).get(_REQUIRED_RULES, {})
    terms: list[Doc] = rules.get("nodeSelectorTerms", [])
    return terms


def _only_adds(term: Doc, old: Doc) -> bool:
    """A term without requirements matches nothing, so adding one to it would widen it."""
    lists = [(term.get(field, []), old.get(field, [])) for field in _REQUIREMENTS]
    if not any(earlier for _, earlier in lists):
        return not any(now for now, _ in lists)
    return all(now[: len(earlier)] == earlier for now, earlier in lists)


def _with_gated_changes(allowed: Doc, now: Doc) -> Doc:
    changed = dict(allowed)
    _take(changed, now, "nodeSelector")
    affinity = dict(allowed.get("affinity", {}))
    _take(affinity, now.get("affinity", {}), "nodeAffinity")
    changed["affinity"] = affinity
    return changed


def validate_pod_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from validate_annotations_update(new, old)
    now, before = new.get("status", {}), old.get("status", {})
    yield from validate_unchanged("status.qosClass", now.get("qosClass"), before.get("qosClass"))
    nominated = now.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        for problem in dns_subdomain(nominated):
            yield invalid("status.nominatedNodeName", nominated, problem)
    for field in ("podIPs", "hostIPs"):
        for index, address in enumerate(now.get(field, ())):
            if not is_address(text := address.get("ip", "")):
                yield invalid(f"status.{field}[{index}]", text, ADDRESS_TEXT)
    yield from validate_pod_health(new)
    for field, containers in _STATUSES.items():
        yield from _validate_stays_ended(
            now.get(field, ()), before.get(field, ()), old["spec"], containers, f"status.{field}"
        )


def _validate_stays_ended(
    now: Iterable[Doc], before: Iterable[Doc], spec: Doc, containers: str, path: str
) -> Iterable[FieldError]:
    """A container that ended for good does not come back to life."""
    running = {status.get("name") for status in now if not _ended(status)}
    policies = {
        container.get("name"): container.get("restartPolicy")
        for container in spec.get(containers, ())
    }
    for index, status in enumerate(before):
        end = _ended(status)
        policy = policies.get(status.get("name")) or spec.get("restartPolicy")
        if end is None or status.get("name") not in running or policy == "Always":
            continue
        if policy == "OnFailure" and end.get("exitCode", 0) != 0:
            continue
        yield forbidden(f"{path}[{index}].state", "may not be transitioned to non-terminated state")


def _ended(status: Doc) -> Any:
    return status.get("state", {}).get("terminated")
