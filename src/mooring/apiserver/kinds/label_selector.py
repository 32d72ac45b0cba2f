"""Label selectors inside documents: of claims, of storage capacity, of group snapshots."""

from collections.abc import Iterable

from mooring.apiserver.kinds.metadata import validate_labels
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, required
from mooring.model.names import label_value, qualified_name

_WITH_VALUES = frozenset(("In", "NotIn"))
_WITHOUT_VALUES = frozenset(("Exists", "DoesNotExist"))


def validate_label_selector(selector: Doc, path: str) -> Iterable[FieldError]:
    if labels := selector.get("matchLabels"):
        yield from validate_labels(labels, f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        operator = requirement.get("operator", "")
        if operator in _WITH_VALUES or operator in _WITHOUT_VALUES:
            yield from validate_operand(requirement, at)
        else:
            yield invalid(f"{at}.operator", operator, "not a valid selector operator")
        yield from validate_key_and_values(requirement, at)


def validate_operand(requirement: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about values where the operator takes none, and none where it needs some."""
    operator, values = requirement["operator"], requirement.get("values")
    if operator in _WITH_VALUES and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in _WITHOUT_VALUES and values:
        yield forbidden(
            f"{path}.values",
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )


def validate_key_and_values(requirement: Doc, path: str) -> Iterable[FieldError]:
    key = requirement.get("key", "")
    for problem in qualified_name(key):
        yield invalid(f"{path}.key", key, problem)
    for index, value in enumerate(requirement.get("values") or ()):
        for problem in label_value(value):
            yield invalid(f"{path}.values[{index}]", value, problem)
