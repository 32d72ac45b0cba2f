"""ConversionReview: the question that a conversion webhook is sent, and what it may answer."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from mooring.apiserver.kinds.metadata import validate_annotations, validate_labels
from mooring.apiserver.limits.budgets import MOST_CONVERTED_VALUES, MOST_VALUES
from mooring.apiserver.limits.json_size import check_values, fits, is_dense
from mooring.errors import ApiError
from mooring.model.document import Doc

GROUP = "apiextensions.k8s.io"
_KIND = "ConversionReview"
_CHANGEABLE = ("labels", "annotations")
_SAME = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_TYPES: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}

_encode = msgspec.json.Encoder().encode


class BadConversion(Exception):
    """What came back is no conversion of what was sent; the text follows `conversion webhook for
    <kind>`."""


class _Result(msgspec.Struct, frozen=True):
    status: str = ""
    message: str = ""


class _Response(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    converted_objects: list[msgspec.Raw] | None = None
    result: _Result = _Result()


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    response: _Response | None = None


_decode = msgspec.json.Decoder(_Review).decode
_decode_object = msgspec.json.Decoder().decode


def question(review: str, uid: str, wanted: str, objects: Sequence[Doc]) -> bytes:
    """The body of the request; `wanted` is an apiVersion."""
    return _encode(
        {
            "kind": _KIND,
            "apiVersion": f"{GROUP}/{review}",
            "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
            "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
        }
    )


def check_size(body: bytes) -> None:
    """Refuse an answer that would take too long to read. May take long itself: not for the event
    loop. Raises: BadConversion."""
    if not fits(body, MOST_CONVERTED_VALUES):
        told = f"failed: the answer holds more than {MOST_CONVERTED_VALUES} values"
        raise BadConversion(told)


def is_large(body: bytes) -> bool:
    """Whether `check_size` has to look at it."""
    return is_dense(body, MOST_CONVERTED_VALUES)


def read_answer(body: bytes, review: str, uid: str, count: int) -> list[msgspec.Raw]:
    """The converted objects, unread. Raises: BadConversion."""
    try:
        answer = _decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadConversion(f"failed: the answer cannot be read: {error}") from error
    if review == "v1":
        _check_identity(answer, uid)
    response = answer.response
    if response is None:
        raise BadConversion("failed: no response provided")
    if response.result.status != "Success":
        status = f"response.result.status was '{response.result.status}', not 'Success'"
        raise BadConversion(f"failed: {response.result.message or status}")
    found = response.converted_objects or []
    if len(found) != count:
        raise BadConversion(f"returned {len(found)} objects, expected {count}")
    return found


def _check_identity(answer: _Review, uid: str) -> None:
    told, wanted = (answer.api_version, answer.kind), (f"{GROUP}/v1", _KIND)
    if told != wanted:
        raise BadConversion(
            f"failed: expected webhook response of {_named(*wanted)}, got {_named(*told)}"
        )
    got = answer.response.uid if answer.response else ""
    if answer.response and got != uid:
        raise BadConversion(f'failed: expected response.uid="{uid}", got "{got}"')


def read_object(raw: msgspec.Raw, original: Doc, wanted: str, index: int) -> Doc:
    """A converted object, its metadata that of the original but for labels and annotations.

    Raises: BadConversion.
    """
    at = f"returned invalid object at index {index}"
    try:
        check_values(bytes(raw), MOST_VALUES)
        converted = _decode_object(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError, ApiError) as error:
        raise BadConversion(f"{at}: {error}") from error
    if not isinstance(converted, dict):
        raise BadConversion(f"{at}: it is no JSON object")
    if (got := converted.get("apiVersion", "")) != wanted:
        raise BadConversion(f"{at}: invalid groupVersion (expected {wanted}, received {got})")
    kind = original["kind"]
    if (got := converted.get("kind", "")) != kind:
        raise BadConversion(f"{at}: invalid kind (expected {kind}, received {got})")
    metadata = _checked_metadata(converted, at)
    before = original["metadata"]
    for field, word in _SAME:
        was, now = before.get(field, ""), metadata.get(field) or ""
        if was != now:
            raise BadConversion(
                f"returned invalid object: must have the same {word}: {was} != {now}"
            )
    converted["metadata"] = _restored(metadata, before, f"returned invalid metadata at {index}")
    return converted


def _checked_metadata(converted: Doc, at: str) -> Doc:
    if "metadata" not in converted:
        raise BadConversion(f"{at}: missing metadata in converted object")
    metadata = converted["metadata"]
    if not isinstance(metadata, dict):
        kind = _type(metadata)
        raise BadConversion(f"{at}: invalid metadata of type {kind} in converted object")
    return metadata


def _restored(metadata: Doc, original: Doc, at: str) -> Doc:
    out = dict(original)
    for field in _CHANGEABLE:
        told = metadata.get(field)
        if told is None:
            out.pop(field, None)
            continue
        if not isinstance(told, dict):
            shown = f"invalid metadata.{field} of type {_type(told)} in converted object"
            raise BadConversion(f"{at}: {shown}")
        for key, value in told.items():
            if not isinstance(value, str):
                raise BadConversion(
                    f"{at}: metadata.{field}[{key}] must be a string, but is {_type(value)} in "
                    "converted object"
                )
        if told != original.get(field, {}):
            validate = validate_labels if field == "labels" else validate_annotations
            _refuse_any(validate(told, f"metadata.{field}"), at)
        out[field] = told
    return out


def _refuse_any(problems: Iterable[Any], at: str) -> None:
    for problem in problems:
        raise BadConversion(f"{at}: {problem}")


def _type(value: Any) -> str:
    return _TYPES.get(type(value), type(value).__name__)


def _named(api_version: str, kind: str) -> str:
    return f"{api_version}, Kind={kind}"
