"""Refusals that name a kind, in the words clients match on."""

from collections.abc import Iterable, Sequence

from mooring.apiserver.kinds.contract import Kind
from mooring.errors import AlreadyExists, Conflict, Forbidden, Invalid, MethodNotAllowed, NotFound
from mooring.model.field_error import FieldError

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def _named(kind: Kind, name: str) -> dict[str, str]:
    details = {"name": name}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.plural
    return details


def not_found(kind: Kind, name: str) -> NotFound:
    return NotFound(f'{kind.resource} "{name}" not found', details=_named(kind, name))


def already_exists(kind: Kind, name: str, *, terminating: bool = False) -> AlreadyExists:
    start = "object is being deleted: " if terminating else ""
    return AlreadyExists(
        f'{start}{kind.resource} "{name}" already exists', details=_named(kind, name)
    )


def name_space_exhausted(kind: Kind, name: str) -> AlreadyExists:
    return AlreadyExists(
        f'{kind.resource} "{name}" already exists, the server was not able to generate '
        "a unique name for the object",
        details=_named(kind, name),
        retry_after=1,
    )


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> Conflict:
    return Conflict(
        f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}',
        details=_named(kind, name),
    )


def forbidden(kind: Kind, name: str, why: str) -> Forbidden:
    return Forbidden(f'{kind.resource} "{name}" is forbidden: {why}', details=_named(kind, name))


def invalid(kind: Kind, name: str, errors: Sequence[FieldError]) -> Invalid:
    return invalid_as(kind.kind, kind.group, name, errors)


def invalid_as(word: str, group: str, name: str, errors: Sequence[FieldError]) -> Invalid:
    """422: equal errors are said once in the message, but each has its cause."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    said = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = word
    shown = f"{word}.{group}" if group else word
    return Invalid(
        f'{shown} "{name}" is invalid: {said}',
        details=details,
        causes=[error.cause() for error in errors],
    )


def check(kind: Kind, name: str, errors: Iterable[FieldError]) -> None:
    """Raise Invalid if there is anything to complain about."""
    found = list(errors)
    if found:
        raise invalid(kind, name, found)


def method_not_allowed() -> MethodNotAllowed:
    return MethodNotAllowed("the server does not allow this method on the requested resource")


def unknown_resource() -> NotFound:
    return NotFound("the server could not find the requested resource")
