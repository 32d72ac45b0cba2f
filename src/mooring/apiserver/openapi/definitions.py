"""Messages as JSON schemas, for Swagger 2.0 and OpenAPI 3.0; `Dialect` is where the two part."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from mooring.apiserver.kinds.contract import Kind, Structure
from mooring.apiserver.openapi.custom_schema import root_schema
from mooring.apiserver.openapi.names import SCALAR_NAMES, Names, gvk
from mooring.apiserver.schema.contract import Field, Merge, Message, Scalar, Schema, Shape
from mooring.errors import MooringError
from mooring.model.document import Doc

INFO = {"title": "Mooring", "version": "v1"}
GVK = "x-kubernetes-group-version-kind"
LIST_META = "meta.v1.ListMeta"
OBJECT_META = "meta.v1.ObjectMeta"

PLAIN_SCALARS: Mapping[Scalar, Doc] = {
    Scalar.STRING: {"type": "string"},
    Scalar.INT32: {"type": "integer", "format": "int32"},
    Scalar.INT64: {"type": "integer", "format": "int64"},
    Scalar.BOOL: {"type": "boolean"},
    Scalar.BYTES: {"type": "string", "format": "byte"},
    Scalar.DOUBLE: {"type": "number", "format": "double"},
}

NAMED_SCALARS: Mapping[Scalar, Doc] = {
    Scalar.QUANTITY: {
        "description": "A number with an optional unit, such as 10Gi, 500m or 2e3.",
        "type": "string",
    },
    Scalar.TIME: {
        "description": "A moment as RFC 3339 tells it, to the second.",
        "type": "string",
        "format": "date-time",
    },
    Scalar.MICRO_TIME: {
        "description": "A moment as RFC 3339 tells it, to the microsecond.",
        "type": "string",
        "format": "date-time",
    },
    Scalar.INT_OR_STRING: {
        "description": "A whole number, or a text.",
        "type": "string",
        "format": "int-or-string",
    },
    Scalar.FIELDS_V1: {
        "description": "A set of fields, as a tree of their names.",
        "type": "object",
    },
    Scalar.ANY: {"type": "object", "description": "An object of any kind."},
    Scalar.JSON_SCHEMA: {
        "description": "A structural OpenAPI v3 schema.",
        "type": "object",
    },
}


class UnknownMessage(MooringError):
    """A kind or a field refers to a message that the schema does not have."""


class Dialect(NamedTuple):
    root: str  # of references
    scalars: Mapping[Scalar, Doc]  # the definitions of those that have a name
    nested: Callable[[Doc, Doc | None], Doc]  # a reference and its default, as a property
    custom: Callable[[Doc], Doc]  # the schema of a custom kind, as far as the dialect has words


class Definitions:
    """The schemas of one document: those referred to, and all that these refer to."""

    def __init__(
        self, schema: Schema, names: Names, dialect: Dialect, kinds: Iterable[Kind] = ()
    ) -> None:
        self._schema = schema
        self._custom = {kind.message: kind.structure for kind in kinds if kind.structure}
        self._names = names
        self._dialect = dialect
        self._made: dict[str, Doc] = {}

    def made(self) -> dict[str, Doc]:
        return dict(sorted(self._made.items()))

    def ref(self, message: str) -> Doc:
        """A reference to a message. Raises: UnknownMessage, also for what it refers to in turn."""
        name = self._names.definition(message)
        if name not in self._made:
            if message in self._custom:
                self._made[name] = self._custom_kind(message, self._custom[message])
                return self._pointer(name)
            if (found := self._schema.find(message)) is None:
                raise UnknownMessage(f"the schema has no message {message}")
            self._made[
                name
            ] = {}  # already known while it is made: messages may refer to themselves
            self._made[name] = self._message(found)
        return self._pointer(name)

    def _custom_kind(self, message: str, structure: Structure) -> Doc:
        metadata = self._property(Field("metadata", 1, OBJECT_META))
        made = self._dialect.custom(root_schema(structure.written(), metadata))
        made[GVK] = self._names.kinds[message]
        return made

    def list_ref(self, kind: Kind) -> Doc:
        """A reference to the list of a kind."""
        name = f"{self._names.definition(kind.message)}List"
        if name not in self._made:
            self._made[name] = {
                "description": f"A list of {kind.kind} objects.",
                "type": "object",
                "required": ["items"],
                "properties": {
                    "apiVersion": {"type": "string"},
                    "items": {"type": "array", "items": self.ref(kind.message)},
                    "kind": {"type": "string"},
                    "metadata": self._property(Field("metadata", 1, LIST_META)),
                },
                GVK: [gvk(kind.group, kind.version, kind.list_kind)],
            }
        return self._pointer(name)

    def _pointer(self, name: str) -> Doc:
        return {"$ref": f"{self._dialect.root}{name}"}

    def _message(self, message: Message) -> Doc:
        made = self._body(message)
        if message.description:
            made["description"] = message.description
        if message.atomic and made["type"] == "object":
            made["x-kubernetes-map-type"] = "atomic"
        if message.name in self._names.kinds:
            made[GVK] = self._names.kinds[message.name]
        return made

    def _body(self, message: Message) -> Doc:
        for field in message.fields.values():
            if field.inline and field.shape is Shape.LIST:
                return self._property(field)  # in JSON the message is this list
        fields = sorted(self._flat(message), key=lambda field: field.name)
        made: Doc = {"type": "object"}
        if fields:
            made["properties"] = {field.name: self._property(field) for field in fields}
        required = [field.name for field in fields if field.required]
        if required:
            made["required"] = required
        return made

    def _flat(self, message: Message) -> Iterator[Field]:
        """The fields that stand in the message's JSON object."""
        for field in message.fields.values():
            if field.inline and isinstance(field.type, str):
                yield from self._flat(self._schema.message(field.type))
            else:
                yield field

    def _property(self, field: Field) -> Doc:
        made = self._shaped(field)
        if field.description:
            made["description"] = field.description
        made.update(_patching(field))
        made.update(self._ownership(field))
        return made

    def _ownership(self, field: Field) -> Iterator[tuple[str, str | list[str]]]:
        """How server-side apply merges a field, where it is not as the field's own type says."""
        if field.shape is Shape.ONE:
            atomic = field.merge is Merge.ATOMIC
            if isinstance(field.type, str) and self._schema.message(field.type).atomic != atomic:
                yield "x-kubernetes-map-type", "atomic" if atomic else "granular"
            return
        what = "list" if field.shape is Shape.LIST else "map"
        match field.merge:
            case Merge.ATOMIC | Merge.SET:
                yield f"x-kubernetes-{what}-type", field.merge.value
            case Merge.KEYED:
                yield "x-kubernetes-list-type", "map"
                yield "x-kubernetes-list-map-keys", list(field.keys)
            case Merge.GRANULAR:
                pass  # a map is, unless it says otherwise

    def _shaped(self, field: Field) -> Doc:
        match field.shape:
            case Shape.LIST:
                return {"type": "array", "items": self._type(field.type)}
            case Shape.MAP:
                return {"type": "object", "additionalProperties": self._type(field.type)}
            case Shape.ONE:
                one = self._type(field.type)
                return self._dialect.nested(one, self._default(field)) if "$ref" in one else one

    def _default(self, field: Field) -> Doc | None:
        """A message that is no pointer is empty when it is left out, if it can be empty at all."""
        if field.pointer or not isinstance(field.type, str):
            return None
        demanding = any(inner.required for inner in self._flat(self._schema.message(field.type)))
        return None if demanding else {}

    def _type(self, kind: Scalar | str) -> Doc:
        if isinstance(kind, str):
            return self.ref(kind)
        if kind in PLAIN_SCALARS:
            return dict(PLAIN_SCALARS[kind])
        name = SCALAR_NAMES[kind]
        self._made[name] = self._dialect.scalars[kind]
        return self._pointer(name)


def _patching(field: Field) -> Iterator[tuple[str, str]]:
    """How strategic merge treats a field. Old clients make their patches by it."""
    if field.patch_key:
        yield "x-kubernetes-patch-merge-key", field.patch_key
    strategies = ["merge"] if field.patch_merges else []
    if field.retain_keys:
        strategies.append("retainKeys")
    if strategies:
        yield "x-kubernetes-patch-strategy", ",".join(strategies)
