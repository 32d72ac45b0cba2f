"""The schema of a custom kind, as OpenAPI shows it: what its author wrote, and what all kinds have.

Swagger 2.0 knows less: alternatives are left out, and so is all below a value that may be null or
that keeps fields nobody described, which clients would refuse by a schema that says too little.
"""

from typing import Any

from mooring.model.document import Doc

_API_VERSION = {
    "description": "The group and version it is written in.",
    "type": "string",
}
_KIND = {"description": "What kind of object it is.", "type": "string"}
_NOT_IN_SWAGGER = (
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "nullable",
    "default",
    "x-kubernetes-validations",
)
_CHILDREN = ("properties", "items", "additionalProperties", "type", "required")
_PRESERVES = "x-kubernetes-preserve-unknown-fields"


def root_schema(written: Doc, metadata: Doc) -> Doc:
    """`metadata` is the reference to ObjectMeta, as a property."""
    properties = dict(written.get("properties") or {})
    properties["apiVersion"] = properties.get("apiVersion") or dict(_API_VERSION)
    properties["kind"] = properties.get("kind") or dict(_KIND)
    properties["metadata"] = metadata
    return {**written, "type": "object", "properties": dict(sorted(properties.items()))}


def root_for_swagger(schema: Doc) -> Doc:
    """What `root_schema` made, as far as Swagger 2.0 can say it.

    Of a kind that keeps fields nobody described it says nothing: kubectl would refuse those.
    """
    return {"type": "object"} if schema.get(_PRESERVES) else for_swagger(schema)


def for_swagger(schema: Doc) -> Doc:
    """A schema of OpenAPI 3 as far as Swagger 2.0 can say it."""
    made = {name: value for name, value in schema.items() if name not in _NOT_IN_SWAGGER}
    if schema.get("nullable") or schema.get(_PRESERVES):
        made = {name: value for name, value in made.items() if name not in _CHILDREN}
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    if "properties" in made:
        inner: dict[str, Any] = made["properties"]
        made["properties"] = {name: for_swagger(each) for name, each in inner.items()}
    if "items" in made:
        made["items"] = for_swagger(made["items"])
    more = made.pop("additionalProperties", None)
    if isinstance(more, dict):
        made["additionalProperties"] = for_swagger(more)
    return made
