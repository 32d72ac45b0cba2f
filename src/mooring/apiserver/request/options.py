"""Query parameters, typed and checked: what a read, a list, a write was asked to do."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs

import msgspec

from mooring.apiserver.limits.short_memo import short_memo
from mooring.apiserver.request.refusals import invalid_as
from mooring.errors import BadRequest
from mooring.model.field_error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)

Query = dict[str, list[str]]

MOST_MANAGER_BYTES = 128
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 19  # of what fits an int64
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_GO_DURATION = re.compile(r"^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$|^0$")


@short_memo
def parse_query(query: str) -> Query:
    """The parameters; the result is shared, so callers only read it."""
    return parse_qs(query, keep_blank_values=True) if query else {}


def first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool:
    """`watch`-like booleans: present and neither 0 nor false means yes."""
    values = query.get(name, [])
    return bool(values) and values[0].lower() not in ("0", "false")


class WriteOptions(msgspec.Struct, frozen=True):
    dry_run: bool = False
    manager: str = ""
    validation: str = "Warn"
    force: bool | None = None


NO_OPTIONS = WriteOptions()


@short_memo
def write_options(query: str, word: str) -> WriteOptions:
    """Options of a create, update, patch or delete; `word` names them in a refusal."""
    parameters = parse_query(query)
    check_timeout(parameters)
    errors: list[FieldError] = []
    is_deletion = word == "DeleteOptions"  # which knows neither managers nor unknown fields
    manager = "" if is_deletion else first(parameters, "fieldManager")
    errors += _manager_complaints(manager)
    dry_run = parameters.get("dryRun", [])
    if any(value != "All" for value in dry_run):
        errors.append(not_supported("dryRun", dry_run, ("All",)))
    validation = "" if is_deletion else first(parameters, "fieldValidation")
    if validation not in VALIDATIONS:
        errors.append(not_supported("fieldValidation", validation, VALIDATIONS))
    force = flag(parameters, "force") if "force" in parameters else None
    if errors:
        raise invalid_as(word, "meta.k8s.io", "", errors)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", force)


def _manager_complaints(manager: str) -> Iterator[FieldError]:
    if len(manager.encode()) > MOST_MANAGER_BYTES:
        yield too_long("fieldManager", MOST_MANAGER_BYTES)
    if not manager.isprintable():
        for place, character in enumerate(manager):
            if not character.isprintable():
                at = len(manager[:place].encode())
                found = f"invalid character U+{ord(character):04X} (at position {at})"
                yield invalid("fieldManager", manager, found)


def check_patch(options: WriteOptions, *, is_apply: bool) -> None:
    errors: list[FieldError] = []
    if is_apply and not options.manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if not is_apply and options.force is not None:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    if errors:
        raise invalid_as("PatchOptions", "meta.k8s.io", "", errors)


class ListOptions(msgspec.Struct, frozen=True):
    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    version: str = ""  # resourceVersion
    match: str = ""  # resourceVersionMatch
    watch: bool = False
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout: int | None = None


@short_memo
def list_options(query: str) -> ListOptions:
    parameters = parse_query(query)
    check_timeout(parameters)
    initial = flag(parameters, "sendInitialEvents") if "sendInitialEvents" in parameters else None
    options = ListOptions(
        labels=first(parameters, "labelSelector"),
        fields=first(parameters, "fieldSelector"),
        limit=max(integer(parameters, "limit") or 0, 0),
        token=first(parameters, "continue"),
        version=first(parameters, "resourceVersion"),
        match=first(parameters, "resourceVersionMatch"),
        watch=flag(parameters, "watch"),
        bookmarks=flag(parameters, "allowWatchBookmarks"),
        initial_events=initial,
        timeout=integer(parameters, "timeoutSeconds"),
    )
    errors = list(_list_complaints(options))
    if errors:
        raise invalid_as("ListOptions", "meta.k8s.io", "", errors)
    return options


def _list_complaints(options: ListOptions) -> "list[FieldError]":
    errors: list[FieldError] = []
    if options.match and options.match not in ("Exact", "NotOlderThan"):
        errors.append(
            not_supported("resourceVersionMatch", options.match, ("Exact", "NotOlderThan", ""))
        )
    if options.watch:
        if options.match and options.initial_events is None:
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless "
                    "sendInitialEvents is provided",
                )
            )
        if options.initial_events is not None and options.match != "NotOlderThan":
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                )
            )
            if options.match == "Exact":
                errors.append(
                    not_supported("resourceVersionMatch", options.match, ("NotOlderThan",))
                )
        return errors
    if options.initial_events is not None:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if options.match:
        if not options.version:
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                )
            )
        if options.token:
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden when continue is provided",
                )
            )
        if options.match == "Exact" and options.version == "0":
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
                )
            )
    return errors


def check_timeout(parameters: Query) -> None:
    timeout = first(parameters, "timeout")
    if timeout and not _GO_DURATION.match(timeout):
        what = "missing unit in" if _NUMBER.fullmatch(timeout) else "invalid"
        raise BadRequest(
            f'invalid timeout specified in the request URL - time: {what} duration "{timeout}"'
        )


def integer(parameters: Query, name: str) -> int | None:
    """None when it is absent. Raises: BadRequest when it is no integer."""
    text = first(parameters, name)
    if not text:
        return None
    if not _INTEGER.fullmatch(text):
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(text) > _MOST_DIGITS:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)
