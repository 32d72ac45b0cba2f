"""JSONSchemaProps: the schema that a CustomResourceDefinition holds for each of its versions.

It refers to itself, and some of its fields are of two types (`items`, `additionalProperties`), so
it has a table of its own. From the table come the typed decode of `reader.py`, the walk of
`check.py` and the protobuf of `codec/`.
"""

from collections.abc import Mapping
from enum import Enum
from types import GenericAlias
from typing import Any, NamedTuple, TypedDict

from mooring.apiserver.schema.wrong_type import Trail, WrongType, go_found
from mooring.model.document import Doc


class Form(Enum):
    """What a field holds."""

    TEXT = "string"
    FLAG = "bool"
    WHOLE = "int64"
    NUMBER = "float64"
    ANY = "v1.JSON"
    ANYS = "[]v1.JSON"
    TEXTS = "[]string"
    SCHEMA = "v1.JSONSchemaProps"
    SCHEMAS = "[]v1.JSONSchemaProps"
    SCHEMA_MAP = "map[string]v1.JSONSchemaProps"
    SCHEMA_OR_LIST = "v1.JSONSchemaPropsOrArray"
    SCHEMA_OR_FLAG = "v1.JSONSchemaPropsOrBool"
    DEPENDENCIES = "v1.JSONSchemaDependencies"
    DOCS = "v1.ExternalDocumentation"
    RULES = "v1.ValidationRules"


class Known(NamedTuple):
    number: int  # in protobuf
    form: Form
    pointer: bool = False  # an empty value has meaning


FIELDS: Mapping[str, Known] = {
    "id": Known(1, Form.TEXT),
    "$schema": Known(2, Form.TEXT),
    "$ref": Known(3, Form.TEXT, pointer=True),
    "description": Known(4, Form.TEXT),
    "type": Known(5, Form.TEXT),
    "format": Known(6, Form.TEXT),
    "title": Known(7, Form.TEXT),
    "default": Known(8, Form.ANY),
    "maximum": Known(9, Form.NUMBER, pointer=True),
    "exclusiveMaximum": Known(10, Form.FLAG),
    "minimum": Known(11, Form.NUMBER, pointer=True),
    "exclusiveMinimum": Known(12, Form.FLAG),
    "maxLength": Known(13, Form.WHOLE, pointer=True),
    "minLength": Known(14, Form.WHOLE, pointer=True),
    "pattern": Known(15, Form.TEXT),
    "maxItems": Known(16, Form.WHOLE, pointer=True),
    "minItems": Known(17, Form.WHOLE, pointer=True),
    "uniqueItems": Known(18, Form.FLAG),
    "multipleOf": Known(19, Form.NUMBER, pointer=True),
    "enum": Known(20, Form.ANYS),
    "maxProperties": Known(21, Form.WHOLE, pointer=True),
    "minProperties": Known(22, Form.WHOLE, pointer=True),
    "required": Known(23, Form.TEXTS),
    "items": Known(24, Form.SCHEMA_OR_LIST),
    "allOf": Known(25, Form.SCHEMAS),
    "oneOf": Known(26, Form.SCHEMAS),
    "anyOf": Known(27, Form.SCHEMAS),
    "not": Known(28, Form.SCHEMA),
    "properties": Known(29, Form.SCHEMA_MAP),
    "additionalProperties": Known(30, Form.SCHEMA_OR_FLAG),
    "patternProperties": Known(31, Form.SCHEMA_MAP),
    "dependencies": Known(32, Form.DEPENDENCIES),
    "additionalItems": Known(33, Form.SCHEMA_OR_FLAG),
    "definitions": Known(34, Form.SCHEMA_MAP),
    "externalDocs": Known(35, Form.DOCS),
    "example": Known(36, Form.ANY),
    "nullable": Known(37, Form.FLAG),
    "x-kubernetes-preserve-unknown-fields": Known(38, Form.FLAG, pointer=True),
    "x-kubernetes-embedded-resource": Known(39, Form.FLAG),
    "x-kubernetes-int-or-string": Known(40, Form.FLAG),
    "x-kubernetes-list-map-keys": Known(41, Form.TEXTS),
    "x-kubernetes-list-type": Known(42, Form.TEXT, pointer=True),
    "x-kubernetes-map-type": Known(43, Form.TEXT, pointer=True),
    "x-kubernetes-validations": Known(44, Form.RULES),
}

DOCS: Mapping[str, Known] = {"description": Known(1, Form.TEXT), "url": Known(2, Form.TEXT)}

RULE: Mapping[str, Known] = {
    "rule": Known(1, Form.TEXT, pointer=True),
    "message": Known(2, Form.TEXT),
    "messageExpression": Known(3, Form.TEXT),
    "reason": Known(4, Form.TEXT, pointer=True),
    "fieldPath": Known(5, Form.TEXT),
    "optionalOldSelf": Known(6, Form.FLAG, pointer=True),
}

_typed_dict: Any = TypedDict  # called with fields that a type checker cannot know
_DocsDict = _typed_dict("_DocsDict", dict.fromkeys(DOCS, str), total=False)
_RuleDict = _typed_dict(
    "_RuleDict",
    {name: bool if known.form is Form.FLAG else str for name, known in RULE.items()},
    total=False,
)
_TYPES: Mapping[Form, Any] = {
    Form.TEXT: str,
    Form.FLAG: bool,
    Form.WHOLE: int,
    Form.NUMBER: int | float,
    Form.ANY: Any,
    Form.ANYS: list[Any],
    Form.TEXTS: list[str],
    Form.SCHEMA: "JsonSchema",
    Form.SCHEMAS: "list[JsonSchema]",
    Form.SCHEMA_MAP: "dict[str, JsonSchema]",
    Form.SCHEMA_OR_LIST: "JsonSchema | list[JsonSchema]",
    Form.SCHEMA_OR_FLAG: "JsonSchema | bool",
    Form.DEPENDENCIES: "dict[str, JsonSchema | list[str]]",
    Form.DOCS: _DocsDict,
    Form.RULES: GenericAlias(list, _RuleDict),
}
JsonSchema = _typed_dict(
    "JsonSchema", {name: _TYPES[known.form] for name, known in FIELDS.items()}, total=False
)
"""What msgspec decodes it as; unknown fields are left out, as everywhere."""


def conform_schema(value: Any, trail: Trail) -> list[Trail]:
    """Prune a schema in place; the ways to what was unknown. `trail` is the way to `value`.

    Raises: WrongType.
    """
    walk = _Walk(trail)
    walk.schema(value, Form.SCHEMA, FIELDS)
    return walk.unknown


class _Walk:
    def __init__(self, trail: Trail) -> None:
        self.trail = list(trail)
        self.unknown: list[Trail] = []

    def schema(self, value: Any, form: Form, fields: Mapping[str, Known]) -> None:
        doc: Doc = self._of_type(value, dict, form)
        for name in list(doc):
            known, inner = fields.get(name), doc[name]
            self.trail.append(name)
            if known is None:
                self.unknown.append(self.trail.copy())
            if known is None or inner is None:
                del doc[name]
            else:
                self._field(inner, known.form)
            self.trail.pop()

    def _field(self, value: Any, form: Form) -> None:
        match form:
            case Form.TEXT:
                self._of_type(value, str, form)
            case Form.FLAG:
                self._of_type(value, bool, form)
            case Form.WHOLE | Form.NUMBER:
                self._number(value, form)
            case Form.ANY:
                pass
            case Form.ANYS:
                self._of_type(value, list, form)
            case Form.SCHEMA:
                self.schema(value, form, FIELDS)
            case Form.DOCS:
                self.schema(value, form, DOCS)
            case Form.SCHEMA_OR_FLAG if isinstance(value, bool):
                pass
            case Form.SCHEMA_OR_FLAG:
                self.schema(value, form, FIELDS)
            case Form.SCHEMA_OR_LIST if not isinstance(value, list):
                self.schema(value, form, FIELDS)
            case Form.SCHEMA_MAP | Form.DEPENDENCIES:
                self._entries(self._of_type(value, dict, form), form)
            case _:
                self._entries(self._of_type(value, list, form), form)

    def _entries(self, value: Any, form: Form) -> None:
        for place, entry in enumerate(value) if isinstance(value, list) else list(value.items()):
            self.trail.append(place)
            if form is Form.TEXTS:
                self._of_type(entry, str, form)
            elif form is Form.RULES:
                self.schema(entry, form, RULE)
            elif form is Form.DEPENDENCIES and isinstance(entry, list):
                self._entries(entry, Form.TEXTS)
            elif entry is None:
                value[place] = {}
            else:
                self.schema(entry, form, FIELDS)
            self.trail.pop()

    def _number(self, value: Any, form: Form) -> None:
        allowed = (int,) if form is Form.WHOLE else (int, float)
        if type(value) not in allowed:
            raise self._misfit(value, form)

    def _of_type(self, value: Any, wanted: type, form: Form) -> Any:
        if not isinstance(value, wanted):
            raise self._misfit(value, form)
        return value

    def _misfit(self, value: Any, form: Form) -> WrongType:
        names = [step for step in self.trail if isinstance(step, str)]
        text = (
            f"json: cannot unmarshal {go_found(value)} into Go struct field "
            f"JSONSchemaProps.{'.'.join(names)} of type {form.value}"
        )
        return WrongType(text, path=".".join(names), found=go_found(value), wanted=form.value)
