"""Refusals that name what they are about, in the words clients match on.

Those ending in `_as` take plain words, for what may not be served at all.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.limits.budgets import MOST_ERROR_BYTES, MOST_ERRORS
from mooring.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
)
from mooring.model.field_error import FieldError, show

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def not_found_as(group: str, resource: str, name: str) -> NotFound:
    """404 for what is named by its words alone."""
    return NotFound(
        f"{_qualified(group, resource)} {show(name)} not found",
        details=_details(group, resource, name),
    )


def conflict_as(group: str, resource: str, name: str, why: str) -> Conflict:
    what = f"{_qualified(group, resource)} {show(name)}"
    return Conflict(
        f"Operation cannot be fulfilled on {what}: {why}", details=_details(group, resource, name)
    )


def forbidden_as(group: str, resource: str, name: str, why: str) -> Forbidden:
    """403; an empty resource is a path."""
    if not resource:
        return Forbidden(f"forbidden: {why}", details={})
    what = f"{_qualified(group, resource)} {show(name)}" if name else _qualified(group, resource)
    return Forbidden(f"{what} is forbidden: {why}", details=_details(group, resource, name))


def replaced(uid: str) -> str:
    """Why a reference with a uid does not hold: its name is now another object's."""
    return (
        f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )


def _qualified(group: str, resource: str) -> str:
    """`storageclasses.storage.k8s.io`; core resources stand alone."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str) -> dict[str, str]:
    return {key: v for key, v in (("name", name), ("group", group), ("kind", kind)) if v}


def not_found(kind: Kind, name: str) -> NotFound:
    return not_found_as(kind.group, kind.plural, name)


def already_exists(kind: Kind, name: str, *, terminating: bool = False) -> AlreadyExists:
    start = "object is being deleted: " if terminating else ""
    return AlreadyExists(
        f'{start}{kind.resource} "{name}" already exists',
        details=_details(kind.group, kind.plural, name),
    )


def name_space_exhausted(kind: Kind, name: str) -> AlreadyExists:
    return AlreadyExists(
        f'{kind.resource} "{name}" already exists, the server was not able to generate '
        "a unique name for the object",
        details=_details(kind.group, kind.plural, name),
        retry_after=1,
    )


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> Conflict:
    return conflict_as(kind.group, kind.plural, name, why)


@lru_cache(maxsize=256)
def refusal_of(code: int, reason: str) -> type[ApiError]:
    """A refusal with a code and reason that somebody else has chosen: a webhook, a policy."""
    return type("Refusal", (ApiError,), {"code": code, "reason": reason})


def forbidden(kind: Kind, name: str, why: str) -> Forbidden:
    return forbidden_as(kind.group, kind.plural, name, why)


def invalid(kind: Kind, name: str, errors: Iterable[FieldError]) -> Invalid:
    group = "" if kind.to_stored else kind.group  # a view complains as the kind that is stored
    return invalid_as(kind.kind, group, name, errors)


def invalid_as(word: str, group: str, name: str, errors: Iterable[FieldError]) -> Invalid:
    """422: equal errors appear once in the message, but each has its cause.

    No more of them are reported, or even looked for, than `budgets` allows.
    """
    told, are_all = _first(errors)
    texts = list(dict.fromkeys(str(error) for error in told))
    if not are_all:
        texts.append("and more")
    said = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return Invalid(
        f"{_qualified(group, word)} {show(name)} is invalid: {said}",
        details=_details(group, word, name),
        causes=[error.cause() for error in told],
    )


def _first(errors: Iterable[FieldError]) -> tuple[list[FieldError], bool]:
    """The errors to report, and whether there are no more."""
    told: list[FieldError] = []
    size = 0
    for error in errors:
        if len(told) == MOST_ERRORS or size >= MOST_ERROR_BYTES:
            return told, False
        told.append(error)
        size += len(error.field) + len(error.text)
    return told, True


def check(kind: Kind, name: str, errors: Iterable[FieldError]) -> None:
    """Raise Invalid if there is anything to complain about."""
    found = iter(errors)
    for first in found:
        raise invalid(kind, name, chain((first,), found))


def method_not_allowed() -> MethodNotAllowed:
    return MethodNotAllowed(
        "the server does not allow this method on the requested resource", details={}
    )


def not_served(group: str, resource: str, advice: str) -> NotFound:
    """404 for a kind that others serve."""
    return NotFound(
        f"Mooring does not serve {_qualified(group, resource)}: {advice}",
        details=_details(group, resource, ""),
    )


def unknown_resource() -> NotFound:
    return NotFound("the server could not find the requested resource", details={})
