"""The base of all typed API objects, and their decoding."""

import base64
from enum import StrEnum
from typing import Any, Self, TypeVar

import msgspec

from mooring.model.secret_value import SecretValue


class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Immutable in Python, camelCase on the wire; unknown fields are skipped when reading.

    Read through these, write by patch: writing a whole one back would erase unknown fields.
    They hold no cycles, so the garbage collector does not track them (`gc=False`).
    """


class Word(StrEnum):
    """An enumeration of the API; a newer server may have values that are not listed here.

    An unlisted value is decoded all the same, so that one object does not make a list unreadable.
    It keeps its text, equals no listed value, and has `is_known` False: code that acts irrevocably
    (deletes, wipes, detaches) checks that first.
    """

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        unknown = str.__new__(cls, value)
        unknown._name_ = unknown._value_ = value
        return unknown

    @property
    def is_known(self) -> bool:
        return self._value_ in type(self)._value2member_map_


W = TypeVar("W", bound=Wire)


def read_document(document: object, kind: type[W]) -> W:
    """Convert decoded JSON to `kind`. Raises: msgspec.ValidationError, naming the path."""
    return msgspec.convert(document, kind, dec_hook=_read_special)


def json_decoder(kind: type[W]) -> msgspec.json.Decoder[W]:
    """A reusable decoder of JSON to `kind`. Its `decode` raises msgspec.ValidationError."""
    return msgspec.json.Decoder(kind, dec_hook=_read_special)


def _read_special(wanted: type, value: Any) -> Any:
    if wanted is SecretValue and isinstance(value, str):
        return SecretValue(base64.b64decode(value, validate=True))
    raise NotImplementedError(f"no way to read {wanted.__name__}")
