"""From the bytes of a request to a document of its kind, whatever they are written in."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from mooring.apiserver.codec.identity import (
    Identity,
    check_identity,
    not_handled,
    unrecognized,
    unregistered,
)
from mooring.apiserver.codec.media import (
    ACCEPTED,
    ACCEPTED_CUSTOM,
    JSON,
    PROTOBUF,
    media_type,
)
from mooring.apiserver.codec.protobuf import decode_message, open_envelope
from mooring.apiserver.codec.yaml_body import read_yaml
from mooring.apiserver.limits.json_size import fits
from mooring.apiserver.limits.short_memo import short_memo
from mooring.apiserver.request.refusals import invalid_as
from mooring.apiserver.schema.check import conform, prune, spell_path
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.pairs import Read, Trail, position, repeated
from mooring.apiserver.schema.reader import read_exact
from mooring.apiserver.schema.wrong_type import WrongType
from mooring.errors import ApiError, BadRequest, UnsupportedMedia
from mooring.model.document import Doc
from mooring.model.field_error import type_invalid

_MOST_FINDINGS = 100
LONGEST_PATH = 1024  # characters of a field's path in an error
_OPTIONS = "meta.v1.DeleteOptions"
_PARSE_ERROR = "couldn't get version/kind; json parse error: "
_NO_OBJECT = (
    "json: cannot unmarshal {} into Go value of type struct {{ "
    'APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }}'
)


class Decoded(NamedTuple):
    doc: Doc
    findings: tuple[str, ...] = ()  # `unknown field "spec.foo"`, in document order


def decode_document(
    body: bytes,
    content_type: str | None,
    message: str,
    *,
    kind: str,
    api_version: str,
    custom: bool,
) -> Decoded:
    """The document in `body`, conforming to `message`, and what was odd about it.

    `custom`: the kind comes from a CRD upstream, so its documents must name kind and apiVersion.
    Raises: UnsupportedMedia, BadRequest; Invalid for a value of the wrong type in a custom kind.
    """
    wanted = Identity(kind, api_version, custom)
    media = accepted_media(content_type, custom=custom)
    if media == PROTOBUF:
        return Decoded(_decode_protobuf(body, message, wanted))
    if media == JSON or body.startswith(b"{"):
        exact = read_exact(body, message) if fits(body) else None
        if exact is not None:
            return Decoded(check_identity(exact, wanted, body))
    try:
        read = read_json(body) if media == JSON else read_yaml(body)
        doc = as_object(read.value)
    except ValueError as error:
        prefix = _PARSE_ERROR if media == JSON else ""
        raise unrecognized(body, wanted, f"{prefix}{error}") from error
    doc = check_identity(doc, wanted, body)
    try:
        unknown = prune(doc, message)
    except WrongType as error:
        raise wrong_type(error, doc, wanted) from error
    return Decoded(doc, findings(unknown, read, doc))


def decode_options(body: bytes, content_type: str | None) -> Doc:
    """The DeleteOptions in the body of a DELETE; none are an empty document.

    Raises: UnsupportedMedia, BadRequest.
    """
    if not body:
        return {}
    media = accepted_media(content_type, custom=False)
    try:
        if media == PROTOBUF:
            envelope = open_envelope(body)
            doc = {"kind": envelope.kind} | decode_message(envelope.raw, _OPTIONS)
        else:
            doc = as_object((read_json(body) if media == JSON else read_yaml(body)).value)
            conform(doc, _OPTIONS)
    except WrongType as error:
        raise BadRequest(str(error)) from error
    except ValueError as error:
        prefix = _PARSE_ERROR if media == JSON else ""
        raise BadRequest(f"{prefix}{error}") from error
    if doc.get("kind", "") not in ("", "DeleteOptions"):
        raise BadRequest(unregistered(doc["kind"], doc.get("apiVersion", "")))
    return doc


@short_memo
def accepted_media(content_type: str | None, *, custom: bool) -> str:
    """The media type of a body. Raises: UnsupportedMedia."""
    media = media_type(content_type)
    accepted = ACCEPTED_CUSTOM if custom else ACCEPTED
    if media not in accepted:
        raise UnsupportedMedia(
            "the body of the request was in an unknown format - "
            f"accepted media types include: {', '.join(accepted)}"
        )
    return media


def _decode_protobuf(body: bytes, message: str, wanted: Identity) -> Doc:
    try:
        envelope = open_envelope(body)
    except ValueError as error:
        raise unrecognized(body, wanted, str(error)) from error
    named: Doc = {}
    if envelope.api_version:
        named["apiVersion"] = envelope.api_version
    if envelope.kind:
        named["kind"] = envelope.kind
    named = check_identity(named, wanted, body)
    try:
        return named | decode_message(envelope.raw, message)
    except ValueError as error:
        raise not_handled(wanted, str(error)) from error


def as_object(value: Any) -> Doc:
    """What a body holds. Raises: ValueError for what is neither an object nor null."""
    match value:
        case dict():
            return value
        case None:
            return {}
        case bool():
            found = "bool"
        case int() | float():
            found = "number"
        case str():
            found = "string"
        case _:
            found = "array"
    raise ValueError(_NO_OBJECT.format(found))


def wrong_type(error: WrongType, doc: Doc, wanted: Identity) -> ApiError:
    """The error for a value of the wrong type: for custom kinds, a field error."""
    if not wanted.custom:
        return not_handled(wanted, str(error))
    detail = f'{error.path} in body must be of type {error.wanted}: "{error.found}"'
    metadata = doc.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return invalid_as(
        wanted.kind,
        wanted.group,
        name if isinstance(name, str) else "",
        [type_invalid(error.path, error.found, detail)],
    )


def _spelled(trail: Trail) -> str:
    return spell_path(trail)[:LONGEST_PATH]


def findings(unknown: Sequence[Trail], read: Read, doc: Doc) -> tuple[str, ...]:
    """What to say of fields that are unknown, or came twice."""
    first = unknown[:_MOST_FINDINGS]
    if read.written is None:
        return tuple(f'unknown field "{_spelled(trail)}"' for trail in first)
    placed = [(position(read.written, trail), "unknown", trail) for trail in first]
    doubled = islice(repeated(read.written, doc), _MOST_FINDINGS)
    placed += [(place, "duplicate", trail) for place, trail in doubled]
    placed.sort(key=lambda found: found[0])
    texts = [f'{what} field "{_spelled(trail)}"' for _, what, trail in placed]
    return tuple(dict.fromkeys(texts))[:_MOST_FINDINGS]
