"""Documents of custom kinds: pruned by their structural schema, metadata by that of all kinds."""

from typing import Any

import msgspec

from mooring.apiserver.codec.body import Decoded, accepted_media, as_object, findings
from mooring.apiserver.codec.identity import Identity, check_identity, not_handled, unrecognized
from mooring.apiserver.codec.media import JSON
from mooring.apiserver.codec.yaml_body import read_yaml
from mooring.apiserver.schema.check import prune as prune_message
from mooring.apiserver.schema.json_text import read_json
from mooring.apiserver.schema.reader import read_exact
from mooring.apiserver.schema.wrong_type import Trail, WrongType
from mooring.apiserver.structural.contract import Node
from mooring.apiserver.structural.prune import drop_nulls, prune
from mooring.model.document import Doc

_METADATA = "meta.v1.ObjectMeta"
_encode = msgspec.json.Encoder().encode


def decode_custom(body: bytes, content_type: str | None, wanted: Identity, node: Node) -> Decoded:
    """The document in `body`, and what was odd about it. Raises: UnsupportedMedia, BadRequest."""
    media = accepted_media(content_type, custom=True)
    try:
        read = read_json(body) if media == JSON else read_yaml(body)
        doc = as_object(read.value)
    except ValueError as error:
        prefix = "couldn't get version/kind; json parse error: " if media == JSON else ""
        raise unrecognized(body, wanted, f"{prefix}{error}") from error
    doc = check_identity(doc, wanted, body)
    try:
        unknown = conform_custom(doc, node)
    except WrongType as error:
        raise not_handled(wanted, str(error)) from error
    return Decoded(doc, findings(unknown, read, doc))


def conform_custom(doc: Doc, node: Node) -> list[Trail]:
    """Take out of a document what its schema does not know, and nulls that mean nothing.

    Raises: WrongType for metadata that is none.
    """
    unknown = [*prune(doc, node)]
    drop_nulls(doc, node)
    metadata = doc.get("metadata")
    if metadata is None:
        doc.pop("metadata", None)
        return unknown
    if not isinstance(metadata, dict):
        raise _no_metadata(metadata)
    exact = _exact(metadata)
    if exact is None:
        odd = prune_message(metadata, _METADATA, at="metadata")
        return [*(["metadata", *trail] for trail in odd), *unknown]
    doc["metadata"] = exact
    return unknown


def _exact(metadata: Doc) -> Doc | None:
    try:
        return read_exact(_encode(metadata), _METADATA)
    except (ValueError, RecursionError):  # it cannot even be written down
        return None


def _no_metadata(value: Any) -> WrongType:
    found = {str: "string", list: "array", bool: "bool"}.get(type(value), "number")
    text = f"json: cannot unmarshal {found} into Go struct field .metadata of type v1.ObjectMeta"
    return WrongType(text, path="metadata", found=found, wanted="object")
