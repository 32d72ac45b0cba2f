"""Rules of the kinds that upstream serves from a CRD, in the words of its schema and its CEL rules.

The schema comes first; as long as it is not met, the rules are not asked, and the answer says so.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from mooring.apiserver.kinds.contract import Column, Context, Kind
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.age import age
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required

CUSTOM_AGE = Column("Age", type="date")
DELETION_POLICIES = ("Delete", "Retain")

_RULES_SKIPPED = invalid(
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def schema_then_rules(
    schema: Iterable[FieldError], rules: Iterator[FieldError]
) -> Iterable[FieldError]:
    """The complaints of both, where `rules` may only look once `schema` has none."""
    unmet = list(schema)
    if unmet:
        return [*unmet, _RULES_SKIPPED]
    return rules


def drop_status(doc: Doc, _: Context) -> None:
    """On create: a new object has no status, whatever the client says."""
    doc.pop("status", None)


def missing(part: Doc, path: str, *fields: str) -> Iterable[FieldError]:
    for field in fields:
        if field not in part:
            yield required(f"{path}{field}")


def policy_unknown(part: Doc, path: str) -> Iterable[FieldError]:
    policy = part.get("deletionPolicy")
    if policy is not None and policy not in DELETION_POLICIES:
        yield not_supported(f"{path}deletionPolicy", policy, DELETION_POLICIES)


def broken(field: str, value: Any, rule: str) -> FieldError:
    """A rule is not kept. Such complaints show plain values, but neither objects nor lists."""
    if isinstance(value, dict | list):
        return FieldError(field, "FieldValueInvalid", f"Invalid value: {rule}")
    return invalid(field, value, rule)


def not_exactly_one(part: Doc, path: str, first: str, second: str) -> Iterable[FieldError]:
    if (first in part) == (second in part):
        yield broken(path, part, f"exactly one of {first} and {second} must be set")


def empty_when_set(part: Doc, path: str, field: str) -> Iterable[FieldError]:
    if part.get(field) == "":
        yield broken(f"{path}.{field}", "", f"{field} must not be the empty string when set")


def taken_away(new: Doc, old: Doc, path: str, *fields: str) -> Iterable[FieldError]:
    for field in fields:
        if field in old and field not in new:
            yield broken(path, new, f"{field} is required once set")


def changed(
    new: Doc, old: Doc, path: str, *fields: str, rule: str = "{} is immutable"
) -> Iterable[FieldError]:
    """Complaints about values that were there and are different now."""
    for field in fields:
        if field in new and field in old and new[field] != old[field]:
            yield broken(f"{path}{field}", new[field], rule.format(field))


def date_cell(since: str | None, now: str) -> str | None:
    return None if since is None else age(since, now)


custom_kind = partial(
    Kind, custom=True, generation=True, update_needs_version=True, deleted_as_status=True
)
"""A `Kind` with the manners of all that is served from a CRD."""

custom_kind_with_status = partial(
    custom_kind,
    status=True,
    status_keeps_metadata=True,
    prepare_create=drop_status,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
)
