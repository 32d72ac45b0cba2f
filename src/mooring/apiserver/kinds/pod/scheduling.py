"""On which nodes a pod may run: tolerations, affinity, gates, spread."""

from collections.abc import Iterable

from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.metadata import validate_labels
from mooring.apiserver.kinds.node import TAINT_EFFECTS
from mooring.apiserver.kinds.node_affinity import validate_node_affinity
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.model.names import dns_subdomain, label_value, qualified_name

_REQUIRED_RULES = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_RULES = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = ("Equal", "Exists")
_WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")


def validate_scheduling(spec: Doc) -> Iterable[FieldError]:
    if labels := spec.get("nodeSelector"):
        yield from validate_labels(labels, "spec.nodeSelector")
    if affinity := spec.get("affinity"):
        yield from _validate_affinity(affinity, "spec.affinity")
    if gates := spec.get("schedulingGates"):
        yield from _validate_gates(gates, "spec.schedulingGates")
        if spec.get("nodeName"):
            yield forbidden(
                "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
            )
    if constraints := spec.get("topologySpreadConstraints"):
        yield from _validate_spread(constraints, "spec.topologySpreadConstraints")
    if node := spec.get("nodeName"):
        for problem in dns_subdomain(node):
            yield invalid("spec.nodeName", node, problem)
    if tolerations := spec.get("tolerations"):
        yield from validate_tolerations(tolerations, "spec.tolerations")


def validate_tolerations(tolerations: Iterable[Doc], path: str) -> Iterable[FieldError]:
    for index, toleration in enumerate(tolerations):
        at = f"{path}[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect = toleration.get("effect", "")
        if key:
            for problem in qualified_name(key):
                yield invalid(f"{at}.key", key, problem)
        elif operator != "Exists":
            yield invalid(
                f"{at}.operator",
                operator,
                "operator must be Exists when `key` is empty, "
                'which means "match all values and all keys"',
            )
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            yield invalid(
                f"{at}.effect",
                effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        yield from _validate_operand(operator, toleration.get("value", ""), f"{at}.operator")
        if effect and effect not in TAINT_EFFECTS:
            yield not_supported(f"{at}.effect", effect, TAINT_EFFECTS)


def _validate_operand(operator: str, value: str, field: str) -> Iterable[FieldError]:
    match operator:
        case "" | "Equal":
            if problems := label_value(value):
                yield invalid(field, value, ";".join(problems))
        case "Exists":
            if value:
                yield invalid(field, value, "value must be empty when `operator` is 'Exists'")
        case _:
            yield not_supported(field, operator, _OPERATORS)


def _validate_affinity(affinity: Doc, path: str) -> Iterable[FieldError]:
    if rules := affinity.get("nodeAffinity"):
        yield from _validate_node_rules(rules, f"{path}.nodeAffinity")
    for field in ("podAffinity", "podAntiAffinity"):
        if rules := affinity.get(field):
            yield from _validate_pod_rules(rules, f"{path}.{field}")


def _validate_node_rules(rules: Doc, path: str) -> Iterable[FieldError]:
    if (selector := rules.get(_REQUIRED_RULES)) is not None:
        yield from _renamed(
            validate_node_affinity({"required": selector}, path),
            f"{path}.required",
            f"{path}.{_REQUIRED_RULES}",
        )
    for index, preference in enumerate(rules.get(_PREFERRED_RULES, ())):
        at = f"{path}.{_PREFERRED_RULES}[{index}]"
        yield from _validate_weight(preference, at)
        term = {"nodeSelectorTerms": [preference.get("preference", {})]}
        yield from _renamed(
            validate_node_affinity({"required": term}, at),
            f"{at}.required.nodeSelectorTerms[0]",
            f"{at}.preference",
        )


def _renamed(errors: Iterable[FieldError], before: str, after: str) -> Iterable[FieldError]:
    """The same errors with the pod's field path in place of the volume's."""
    for error in errors:
        field = after + error.field.removeprefix(before)
        yield FieldError(field, error.reason, error.text)


def _validate_pod_rules(rules: Doc, path: str) -> Iterable[FieldError]:
    for index, term in enumerate(rules.get(_REQUIRED_RULES, ())):
        yield from _validate_pod_term(term, f"{path}.{_REQUIRED_RULES}[{index}]")
    for index, preference in enumerate(rules.get(_PREFERRED_RULES, ())):
        at = f"{path}.{_PREFERRED_RULES}[{index}]"
        yield from _validate_weight(preference, at)
        yield from _validate_pod_term(
            preference.get("podAffinityTerm", {}), f"{at}.podAffinityTerm"
        )


def _validate_weight(preference: Doc, path: str) -> Iterable[FieldError]:
    if not 1 <= (weight := preference.get("weight", 0)) <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_pod_term(term: Doc, path: str) -> Iterable[FieldError]:
    for field in ("labelSelector", "namespaceSelector"):
        if selector := term.get(field):
            yield from validate_label_selector(selector, f"{path}.{field}")
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    for problem in qualified_name(key):
        yield invalid(f"{path}.topologyKey", key, problem)


def _validate_gates(gates: Iterable[Doc], path: str) -> Iterable[FieldError]:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        for problem in qualified_name(name):
            yield invalid(f"{path}[{index}]", name, problem)
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _validate_spread(constraints: list[Doc], path: str) -> Iterable[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        if (skew := constraint.get("maxSkew", 0)) <= 0:
            yield invalid(f"{at}.maxSkew", skew, "must be greater than zero")
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        if not key:
            yield required(f"{at}.topologyKey", "can not be empty")
        if action not in _WHEN_UNSATISFIABLE:
            yield not_supported(f"{at}.whenUnsatisfiable", action, _WHEN_UNSATISFIABLE)
        if (key, action) in seen:
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        seen.add((key, action))
        if (domains := constraint.get("minDomains")) is not None:
            yield from _validate_domains(domains, action, f"{at}.minDomains")
        if selector := constraint.get("labelSelector"):
            yield from validate_label_selector(selector, f"{at}.labelSelector")


def _validate_domains(domains: int, action: str, field: str) -> Iterable[FieldError]:
    if domains <= 0:
        yield invalid(field, domains, "must be greater than zero")
    if action != _WHEN_UNSATISFIABLE[0]:
        yield invalid(
            field,
            domains,
            f"can only use minDomains if whenUnsatisfiable={_WHEN_UNSATISFIABLE[0]}, not {action}",
        )
