"""The shape of documents: messages and their fields, one source for everything that needs it.

From these come: protobuf decoding, unknown-field and type checks, pruning, OpenAPI v2 and v3,
strategic merge keys, and the list and map types of server-side apply.

The messages are in the `*.schema` files of this folder, in the format that `parse.py` explains.
"""

from collections.abc import Mapping
from enum import Enum

import msgspec


class Scalar(Enum):
    STRING = "string"
    INT32 = "int32"
    INT64 = "int64"
    BOOL = "bool"
    BYTES = "bytes"  # base64 text in JSON
    DOUBLE = "double"
    # values with a JSON form of their own
    QUANTITY = "Quantity"
    TIME = "Time"
    MICRO_TIME = "MicroTime"
    INT_OR_STRING = "IntOrString"
    FIELDS_V1 = "FieldsV1"
    ANY = "Any"  # any JSON at all (RawExtension)
    JSON_SCHEMA = "JSONSchemaProps"  # `json_schema.py`


# Go writes out even the empty ones of these.
_STRUCTS = (Scalar.QUANTITY, Scalar.TIME, Scalar.MICRO_TIME, Scalar.INT_OR_STRING)


class Shape(Enum):
    ONE = "one"
    LIST = "list"
    MAP = "map"  # string keys


class Merge(Enum):
    """How server-side apply and strategic merge treat a field."""

    ATOMIC = "atomic"  # replaced whole (default for lists of scalars and unkeyed lists)
    SET = "set"  # a list of scalars, each its own owner
    KEYED = "keyed"  # a list of messages, identified by `keys`
    GRANULAR = "granular"  # maps and messages: merged field by field (their default)


class Field(msgspec.Struct, frozen=True):
    name: str  # in JSON
    number: int  # in protobuf; 0: never in protobuf
    type: Scalar | str  # a scalar, or the full name of a message
    shape: Shape = Shape.ONE
    merge: Merge = Merge.GRANULAR
    keys: tuple[str, ...] = ()  # of server-side apply, when KEYED
    patch_key: str = ""  # of strategic merge; "" on a list: replaced whole, unless SET
    patch_replaces: bool = False  # strategic merge replaces this SET whole
    retain_keys: bool = False  # strategic merge: `$retainKeys` applies
    inline: bool = False  # its fields stand in the parent's JSON object
    pointer: bool = False  # in protobuf, presence has meaning: an empty value is kept
    required: bool = False  # for OpenAPI; absent lists are emitted as []
    shown: bool = False  # emitted, null or zero, when it is absent; yet not required
    off: bool = False  # its feature gate is off: it is read, and left out
    since: int = 0  # the minor release that brought it
    until: int = 1 << 30  # the last one that has it
    description: str = ""

    @property
    def patch_merges(self) -> bool:
        """Whether strategic merge adds to this list."""
        return bool(self.patch_key) or (self.merge is Merge.SET and not self.patch_replaces)

    @property
    def is_always_there(self) -> bool:
        """Whether an answer that has its message has it too, if only as null, zero or {}."""
        if self.shape is Shape.ONE and (isinstance(self.type, str) or self.type in _STRUCTS):
            return not self.pointer
        return self.required or self.shown


class Message(msgspec.Struct, frozen=True):
    name: str  # full: "core.v1.PersistentVolumeClaim"
    fields: Mapping[str, Field]  # by JSON name; inline ones under their protobuf name
    atomic: bool = False  # a message that is replaced whole (LabelSelector, ...)
    description: str = ""


class Schema(msgspec.Struct, frozen=True):
    messages: Mapping[str, Message]  # of the newest release
    older: Mapping[str, Message] = {}  # of older ones, as far as they were others (`releases.py`)

    def message(self, name: str) -> Message:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def find(self, name: str) -> Message | None:
        return self.messages.get(name) or self.older.get(name)
