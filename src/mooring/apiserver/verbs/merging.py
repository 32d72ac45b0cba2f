"""A merge patch of a caller in this process, done to a stored document.

Such patches are small and right, so what is right as it stands takes the short way: checked by one
typed decode, then merged. Anything else is merged first, and then spelled, pruned or refused.
"""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.codec.body import wrong_type
from mooring.apiserver.codec.custom_body import conform_custom
from mooring.apiserver.codec.identity import Identity
from mooring.apiserver.documents.document import decode_json, encode
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.patching.copying import copied
from mooring.apiserver.request.refusals import invalid_as
from mooring.apiserver.schema.check import conform
from mooring.apiserver.schema.reader import read_exact
from mooring.apiserver.schema.wrong_type import WrongType
from mooring.apiserver.verbs.backend import Call
from mooring.apiserver.verbs.before_write import match_namespace
from mooring.apiserver.verbs.update import check_name
from mooring.errors import ApiError
from mooring.model.document import Doc
from mooring.model.field_error import invalid

MOST_SHOWN = 4096  # characters of a document, in the refusal of a patch


def merged(call: Call, old: Doc, change: Doc) -> Doc:
    """The document after the change (RFC 7386), conforming to its kind.

    It is a new document two levels deep. Below that it shares unchanged parts with the old one:
    they are complete since they were stored, so no defaults are filled in there.
    Raises: what is wrong with the change.
    """
    new = {name: dict(part) if type(part) is dict else part for name, part in old.items()}
    exact = _exact(call.kind, change)
    if exact is not None:
        _put(new, exact)
    else:
        _merge(new, copied(change))
        if call.kind.structure is not None:
            conform_custom(new, call.kind.structure.node)
        else:
            _conform(call.kind, new, change)
    _check_identity(call, new)
    return new


def _exact(kind: Kind, change: Doc) -> Doc | None:
    """A copy of the change, if it removes nothing and there is nothing to say about it."""
    if kind.structure is not None:
        return None
    body = encode(change)
    if body.find(b"null") >= 0:
        return None
    exact = read_exact(body, kind.message)
    if exact == change or exact == decode_json(body):  # callers' tuples are lists by now
        return exact
    return None


def _put(target: Doc, change: Doc) -> None:
    """Merge what removes nothing."""
    for name, value in change.items():
        inner = target.get(name)
        if type(value) is dict and type(inner) is dict:
            target[name] = inner = dict(inner)
            _put(inner, value)
        else:
            target[name] = value


def _merge(target: Doc, change: Doc) -> None:
    for name, value in change.items():
        if type(value) is dict:
            inner = target.get(name)
            target[name] = inner = dict(inner) if type(inner) is dict else {}
            _merge(inner, value)
        elif value is None:
            target.pop(name, None)
        else:
            target[name] = value


def _conform(kind: Kind, new: Doc, change: Doc) -> None:
    """Check what the change touched, two levels deep: the rest conformed when it was stored."""
    for part, wanted in change.items():
        if part not in new:
            continue
        whole = new[part]
        is_deep = isinstance(wanted, dict) and isinstance(whole, dict)
        touched = {part: _only(whole, wanted) if is_deep else whole}
        try:
            conform(touched, kind.message)
        except WrongType as error:
            raise _misfit(kind, new, error) from error
        if is_deep:
            _put_back(whole, touched.get(part, {}), wanted)
        if part not in touched and not (is_deep and whole):
            del new[part]


def _only(whole: Doc, fields: Iterable[str]) -> Doc:
    return {field: whole[field] for field in fields if field in whole}


def _put_back(whole: Doc, kept: Doc, fields: Iterable[str]) -> None:
    for field in fields:
        if field in kept:
            whole[field] = kept[field]
        else:
            whole.pop(field, None)


def _misfit(kind: Kind, new: Doc, error: WrongType) -> ApiError:
    if kind.custom:
        return wrong_type(error, new, Identity(kind.kind, kind.api_version, custom=True))
    shown = encode(new).decode()[:MOST_SHOWN]
    return invalid_as("", "", "", [invalid("patch", shown, str(error))])


def _check_identity(call: Call, new: Doc) -> None:
    """A patch changes an object; it does not turn it into another one."""
    metadata: dict[str, Any] = new.setdefault("metadata", {})
    check_name(call, metadata.get("name", ""))
    match_namespace(call, metadata)
    new["kind"], new["apiVersion"] = call.kind.kind, call.kind.api_version
