"""Asks for what is wrong with a schema, and leaves out the path that all errors begin with."""

from typing import Any

from mooring.apiserver.structural.schema_problems import schema_problems
from mooring.model.document import Doc
from tests.unit.apiserver.structural.schemas import AT, a_text, an_integer, an_object

INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
LIST_TYPE = "x-kubernetes-list-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
EITHER = [{"type": "integer"}, {"type": "string"}]


PORT = {**an_object(port=an_integer(), protocol=a_text(default="TCP")), "required": ["port"]}


def told(schema: Any, **more: Any) -> list[str]:
    """The errors, without the path that all begin with."""
    return [str(error).removeprefix(AT) for error in schema_problems(schema, AT, **more)]


def of_field(schema: Doc) -> list[str]:
    """The errors of a schema as that of field `f`, without the path that all begin with."""
    return [text.removeprefix(".properties[f]") for text in told(an_object(f=schema))]


def rule(**entry: Any) -> Doc:
    return {"x-kubernetes-validations": [entry]}
