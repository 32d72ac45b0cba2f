"""Validation errors of one field of a document, with the texts that Kubernetes clients match on."""

import json
from typing import Any

import msgspec

from mooring.model.go_float import go_float

MOST_SHOWN = 4096  # characters of a value, about
_ELLIPSIS = "..."
_LEVEL_COST = 8  # characters that each list or object counts: this also bounds the depth


class FieldError(msgspec.Struct, frozen=True):
    """One error: the field, its type, and the text after `<field>: `."""

    field: str
    reason: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"

    def cause(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.text, "field": self.field}


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(field, "FieldValueRequired", "Required value" + _tail(detail))


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(field, "FieldValueInvalid", f"Invalid value: {show(value)}{_tail(detail)}")


def not_supported(field: str, value: Any, supported: tuple[str, ...]) -> FieldError:
    known = ", ".join(show(v) for v in supported)
    text = f"Unsupported value: {show(value)}: supported values: {known}"
    return FieldError(field, "FieldValueNotSupported", text)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError(field, "FieldValueDuplicate", f"Duplicate value: {show(value)}")


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(field, "FieldValueForbidden", f"Forbidden{_tail(detail)}")


def too_long(field: str, most_bytes: int) -> FieldError:
    unit = "byte" if most_bytes == 1 else "bytes"
    text = f"Too long: may not be more than {most_bytes} {unit}"
    return FieldError(field, "FieldValueTooLong", text)


def too_many(field: str, count: int, most: int) -> FieldError:
    items = "item" if most == 1 else "items"
    text = f"Too many: {count}: must have at most {most} {items}"
    return FieldError(field, "FieldValueTooMany", text)


def not_found(field: str, value: Any) -> FieldError:
    return FieldError(field, "FieldValueNotFound", f"Not found: {show(value)}")


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(
        field, "FieldValueTypeInvalid", f"Invalid value: {show(value)}{_tail(detail)}"
    )


def show(value: Any) -> str:
    """A value as Go prints it in such errors: strings quoted, numbers bare, structs as JSON.

    A long value is cut.
    """
    if isinstance(value, str | list | tuple | dict):
        value = _Beginning(MOST_SHOWN).of(value)
    if isinstance(value, float):
        return go_float(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Beginning:
    """Cuts a value to a number of characters, with an ellipsis."""

    def __init__(self, left: int) -> None:
        self._left = left

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            whole = len(value) <= max(0, self._left)
            shown = value if whole else value[: max(0, self._left)] + _ELLIPSIS
            self._left -= len(shown) + 3
            return shown
        if not isinstance(value, list | tuple | dict):
            self._left -= 5
            return value
        self._left -= _LEVEL_COST
        if isinstance(value, dict):
            return self._of_object(value)
        items: list[Any] = []
        for item in value:
            if self._left <= 0:
                items.append(_ELLIPSIS)
                break
            items.append(self.of(item))
        return items

    def _of_object(self, value: dict[Any, Any]) -> dict[Any, Any]:
        members: dict[Any, Any] = {}
        for key, member in value.items():
            if self._left <= 0:
                members[_ELLIPSIS] = _ELLIPSIS
                break
            members[self.of(key)] = self.of(member)
        return members


def _tail(detail: str) -> str:
    return f": {detail}" if detail else ""
