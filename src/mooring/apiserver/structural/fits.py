"""Whether a value is valid by its schema: yes or no, compiled once, fast when the answer is yes.

What is wrong with a value that does not fit is told by `judge.py`; both say the same of every
value (`tests/unit/apiserver/structural/test_fits.py`).
"""

from collections.abc import Callable
from typing import Any

from mooring.apiserver.structural.formats import check_of, format_of
from mooring.apiserver.structural.numbers import (
    KEYWORDS,
    is_integer,
    is_number,
    range_fault,
    whole_bounds,
    within_bounds,
)
from mooring.apiserver.structural.patterns import matches
from mooring.apiserver.structural.values import Enumeration, is_of, types_of
from mooring.model.document import Doc

Fits = Callable[[Any], bool]

_CONTAINERS = ("object", "array")


def fits_of(schema: Doc) -> Fits:
    """The check of a schema, with all below it."""
    types = types_of(schema)
    checks = [check for check in _checks(schema, types) if check is not None]
    whole = checks[0] if len(checks) == 1 else _all(checks)
    if types and not schema.get("nullable"):
        return whole
    takes_null = not schema.get("enum")

    def or_null(value: Any) -> bool:
        return takes_null if value is None else whole(value)

    return or_null


def _checks(schema: Doc, types: tuple[str, ...]) -> list[Fits | None]:
    if types == ("object",):
        first = _object(schema, otherwise=False)
        return [first, _enum(schema, types), *_junctors(schema)]
    if types == ("array",):
        first = _list(schema, otherwise=False)
        return [first, _enum(schema, types), *_junctors(schema)]
    if types == ("string",):
        first = _enum(schema, types) or _text(schema, otherwise=False) or _is_string
        rest = _text(schema, otherwise=True) if schema.get("enum") else None
        return [first, rest, *_junctors(schema)]
    if types in (("integer",), ("number",)):
        first = _number(schema, otherwise=False) or _TYPED[types]
        return [first, _enum(schema, types), *_junctors(schema)]
    several = [
        *(_text(schema, otherwise=True), _number(schema, otherwise=True)),
        *(_enum(schema, types), *_junctors(schema)),
    ]
    if not types:  # also inside of anyOf and its like
        return [_object(schema, otherwise=True), _list(schema, otherwise=True), *several]
    return [_typed(types), *several]


def _all(checks: list[Fits]) -> Fits:
    if not checks:
        return _anything
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    return lambda value: all([check(value) for check in checks])


def _anything(_: Any) -> bool:
    return True


def _is_string(value: Any) -> bool:
    return type(value) is str


def _is_boolean(value: Any) -> bool:
    return type(value) is bool


_TYPED: dict[tuple[str, ...], Fits] = {
    ("string",): _is_string,
    ("boolean",): _is_boolean,
    ("integer",): is_integer,
    ("number",): is_number,
}


def _typed(types: tuple[str, ...]) -> Fits:
    return _TYPED.get(types) or (lambda value: value is not None and is_of(value, types))


def _object(schema: Doc, *, otherwise: bool) -> Fits | None:
    required = tuple(schema.get("required") or ())
    children = {name: fits_of(child) for name, child in (schema.get("properties") or {}).items()}
    written = schema.get("additionalProperties")
    additional = fits_of(written) if isinstance(written, dict) else None
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    is_closed = written is False
    if otherwise and not (required or children or additional or is_closed):
        return None if least is None and most is None else _sized(_anything, least or 0, most)
    fits = _fields(required, children, additional, is_closed=is_closed, otherwise=otherwise)
    return fits if least is None and most is None else _sized(fits, least or 0, most)


def _fields(
    required: tuple[str, ...],
    children: dict[str, Fits],
    additional: Fits | None,
    *,
    is_closed: bool,
    otherwise: bool,
) -> Fits:
    check = children.get

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return otherwise
        for name in required:
            if name not in value:
                return False
        for name, held in value.items():
            child = check(name)
            if child is None:
                child = additional
                if child is None:
                    if is_closed:
                        return False
                    continue
            if not child(held):
                return False
        return True

    return fits


def _sized(fits: Fits, fewest: int, most: int | None) -> Fits:
    """The check of an object, with how many fields it may have."""

    def fits_in_size(value: Any) -> bool:
        if type(value) is dict and not fewest <= len(value) <= (
            len(value) if most is None else most
        ):
            return False
        return fits(value)

    return fits_in_size


def _list(schema: Doc, *, otherwise: bool) -> Fits | None:
    written = schema.get("items")
    item = fits_of(written) if isinstance(written, dict) else _anything
    fewest, most = schema.get("minItems") or 0, schema.get("maxItems")
    if otherwise and item is _anything and not fewest and most is None:
        return None

    def fits(value: Any) -> bool:
        if type(value) is not list:
            return otherwise
        if len(value) < fewest or (most is not None and len(value) > most):
            return False
        for held in value:  # noqa: SIM110  a generator would cost more than the checks
            if not item(held):
                return False
        return True

    return fits


def _text(schema: Doc, *, otherwise: bool) -> Fits | None:
    shortest, longest = schema.get("minLength") or 0, schema.get("maxLength")
    pattern, form = schema.get("pattern") or "", check_of(schema)
    if not (shortest or pattern or form) and longest is None:
        return None

    def fits(value: Any) -> bool:
        if type(value) is not str:
            return otherwise
        if len(value) < shortest or (longest is not None and len(value) > longest):
            return False
        return (not pattern or matches(value, pattern)) and (form is None or form(value))

    return fits


def _number(schema: Doc, *, otherwise: bool) -> Fits | None:
    type_ = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type") or ""
    format_ = format_of(schema)
    has_range = type_ in ("integer", "number") and bool(format_)
    has_bounds = any(schema.get(keyword) is not None for keyword in KEYWORDS)
    if not has_range and not has_bounds:
        return None

    is_right = _TYPED.get((type_,), is_number)
    least, most = whole_bounds(schema, type_, format_)

    def fits(value: Any) -> bool:
        if type(value) is int and least is not None and most is not None:
            return least <= value <= most
        if not is_number(value):
            return otherwise
        in_range = is_right(value) and not range_fault(value, type_, format_)
        return in_range and within_bounds(value, schema)

    return fits


def _enum(schema: Doc, types: tuple[str, ...]) -> Fits | None:
    if not schema.get("enum"):
        return None
    values = Enumeration(schema["enum"])
    if types == ("string",):
        strings = values.strings()
        return lambda value: type(value) is str and value in strings
    return values.__contains__


def _junctors(schema: Doc) -> list[Fits]:
    checks: list[Fits] = [fits_of(part) for part in schema.get("allOf") or ()]
    if alternatives := [fits_of(part) for part in schema.get("anyOf") or ()]:
        checks.append(lambda value: any(fits(value) for fits in alternatives))
    if choices := [fits_of(part) for part in schema.get("oneOf") or ()]:
        checks.append(lambda value: sum(fits(value) for fits in choices) == 1)
    if (written := schema.get("not")) is not None:
        unwanted = fits_of(written)
        checks.append(lambda value: not unwanted(value))
    return checks
