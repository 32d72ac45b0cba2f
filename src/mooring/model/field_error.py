"""What is wrong with one field of a document, in the words that Kubernetes clients match on."""

import json
from typing import Any

import msgspec


class FieldError(msgspec.Struct, frozen=True):
    """One complaint: where, which sort, and the text behind `<field>: `."""

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
    return FieldError(
        field, "FieldValueTooLong", f"Too long: may not be more than {most_bytes} bytes"
    )


def not_found(field: str, value: Any) -> FieldError:
    return FieldError(field, "FieldValueNotFound", f"Not found: {show(value)}")


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(
        field, "FieldValueTypeInvalid", f"Invalid value: {show(value)}{_tail(detail)}"
    )


def show(value: Any) -> str:
    """A value as Go prints it in such errors: strings quoted, numbers bare, structs as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _tail(detail: str) -> str:
    return f": {detail}" if detail else ""
