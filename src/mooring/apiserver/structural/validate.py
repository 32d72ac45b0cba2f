"""What is wrong with the values of a document, by its schema."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from mooring.apiserver.structural.contract import Node, once
from mooring.apiserver.structural.correlation import Before
from mooring.apiserver.structural.fits import Fits, fits_of
from mooring.apiserver.structural.judge import Judge
from mooring.apiserver.structural.patterns import TooCostly, begin_look
from mooring.model.field_error import FieldError, invalid

NO_FIELD = "<nil>"
"""The field of an error that is told of no field, as upstream spells it."""

# An object with such an error may not even have the types that rules (CEL) were checked for.
_BLOCKING = frozenset(
    (
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)
_TOO_COSTLY = (
    "its texts are too long for the patterns of their schema: shorten them, or use simpler patterns"
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def validate(value: Any, node: Node, *, old: Any = None, at: str = "") -> list[FieldError]:
    """What is wrong with a value, in the words of OpenAPI validation.

    `old`: the value before an update (None on a create): errors at values that did not change are
    not told. `at`: the field that the value is (`status` for a write of the status).
    """
    begin_look()
    try:
        if once(node, "fits", _fits)(value):
            return []
        before = None if old is None else Before(old, node.written)
        errors = once(node, "judge", _judge).ratcheted(value, None, before).errors
    except TooCostly:
        return [invalid(at or NO_FIELD, None, _TOO_COSTLY)]
    told = (replace(error, field=_placed(error.field, at)) for error in errors)
    return list(dict.fromkeys(told))  # kube-openapi tells each text once


def skips_rules(errors: Iterable[FieldError]) -> FieldError | None:
    """The error to add when these errors keep rules (CEL) from being checked; None: check them."""
    if any(error.reason in _BLOCKING for error in errors):
        return invalid(NO_FIELD, None, _NOT_CHECKED)
    return None


def _fits(node: Node) -> Fits:
    return fits_of(node.written)


def _judge(node: Node) -> Judge:
    return Judge(node.written)


def _placed(path: str, at: str) -> str:
    name = path.removeprefix(".")
    if not name:
        return at or NO_FIELD
    return f"{at}.{name}" if at else name
