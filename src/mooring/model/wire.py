"""The base of everything typed that crosses the API, and how to read it."""

import base64
from enum import StrEnum
from typing import Any, Self, TypeVar

import msgspec

from mooring.model.secret_value import SecretValue


class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Immutable in Python, camelCase on the wire; unknown fields are skipped when reading.

    Read through these, write by patch: a whole one written back would erase what it does not know.
    They hold no cycles: the garbage collector is spared looking at hundreds of thousands of them.
    """


class Word(StrEnum):
    """A word out of a list that the API fixes; another server's list may be longer than ours.

    A word that is not on ours is read all the same, so that one object does not keep us from seeing
    the others. It stays what it was, equals no word we know, and says so by `is_known`: whoever
    decides for good (deletes, wipes, lets go) asks that first.
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
    """See a decoded JSON document as `kind`. Raises: msgspec.ValidationError, naming the path."""
    return msgspec.convert(document, kind, dec_hook=_read_special)


def json_decoder(kind: type[W]) -> msgspec.json.Decoder[W]:
    """A reusable reader of `kind` from JSON bytes. Its `decode` raises msgspec.ValidationError."""
    return msgspec.json.Decoder(kind, dec_hook=_read_special)


def _read_special(wanted: type, value: Any) -> Any:
    if wanted is SecretValue and isinstance(value, str):
        return SecretValue(base64.b64decode(value, validate=True))
    raise NotImplementedError(f"no way to read {wanted.__name__}")
