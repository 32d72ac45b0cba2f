"""The policies of a Job: what its pods' ends mean for it."""

from collections.abc import Iterable

from mooring.model import job_indexes
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported, required
from mooring.model.names import qualified_name

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MOST_RULES = 20
_MOST_EXIT_CODES = 255


def _too_many(path: str, number: int, most: int) -> FieldError:
    text = f"Too many: {number}: must have at most {most} items"
    return FieldError(path, "FieldValueTooMany", text)


def _valid(words: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(f'"{word}"' for word in words) + "]"


def validate_failure_policy(spec: Doc, path: str) -> Iterable[FieldError]:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MOST_RULES:
        yield _too_many(f"{path}.rules", len(rules), _MOST_RULES)
    template = spec.get("template", {}).get("spec", {})
    names = {
        container.get("name")
        for field in ("containers", "initContainers")
        for container in template.get(field) or ()
    }
    for index, rule in enumerate(rules):
        at = f"{path}.rules[{index}]"
        yield from _validate_action(rule.get("action", ""), spec, f"{at}.action")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            yield from _validate_exit_codes(codes, f"{at}.onExitCodes", names)
        yield from _validate_conditions(conditions, f"{at}.onPodConditions")
        if codes is not None and conditions:
            why = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield FieldError(at, "FieldValueInvalid", f"Invalid value: {why}")
        if codes is None and not conditions:
            why = "specifying one of OnExitCodes and OnPodConditions is required"
            yield FieldError(at, "FieldValueInvalid", f"Invalid value: {why}")


def _validate_action(action: str, spec: Doc, path: str) -> Iterable[FieldError]:
    if not action:
        yield required(path, _valid(_ACTIONS))
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid(path, action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield not_supported(path, action, _ACTIONS)


def _validate_exit_codes(codes: Doc, path: str, names: set[str]) -> Iterable[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield required(f"{path}.operator", _valid(_OPERATORS))
    elif operator not in _OPERATORS:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    if (name := codes.get("containerName")) is not None and name not in names:
        why = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, why)
    if not values:
        yield invalid(f"{path}.values", values, "at least one value is required")
    elif len(values) > _MOST_EXIT_CODES:
        yield _too_many(f"{path}.values", len(values), _MOST_EXIT_CODES)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            why = "must not be 0 for the In operator"
            yield invalid(f"{path}.values[{index}]", value, why)
        if value in values[:index]:
            yield duplicate(f"{path}.values[{index}]", value)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


def _validate_conditions(patterns: Iterable[Doc], path: str) -> Iterable[FieldError]:
    listed = list(patterns)
    if len(listed) > _MOST_RULES:
        yield _too_many(path, len(listed), _MOST_RULES)
    for index, pattern in enumerate(listed):
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        for problem in qualified_name(kind):
            yield invalid(f"{path}[{index}].type", kind, problem)
        if not status:
            yield required(f"{path}[{index}].status", _valid(_STATUSES))
        elif status not in _STATUSES:
            yield not_supported(f"{path}[{index}].status", status, _STATUSES)


def validate_success_policy(spec: Doc, path: str) -> Iterable[FieldError]:
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", why)
    if len(rules) > _MOST_RULES:
        yield _too_many(f"{path}.rules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _validate_rule(rule, spec.get("completions") or 0, f"{path}.rules[{index}]")


def _validate_rule(rule: Doc, completions: int, path: str) -> Iterable[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        yield required(path, why)
    total = 0
    if indexes is not None:
        try:
            total = job_indexes.count(indexes, completions)
        except ValueError as error:
            why = f"error parsing succeededIndexes: {error}"
            yield invalid(f"{path}.succeededIndexes", indexes, why)
    if count is None:
        return
    at = f"{path}.succeededCount"
    if count < 0:
        yield invalid(at, count, "must be greater than or equal to 0")
    if count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(at, count, why)
    if indexes is not None and count > total:
        of = "(the number of indexes in the specified succeededIndexes field)"
        yield invalid(at, count, f"must be less than or equal to {total} {of}")
