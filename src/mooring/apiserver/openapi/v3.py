"""OpenAPI 3.0: an index, and one document per group-version.

A patch declares no body on purpose: with one, kubectl would work out its patches from the schema
instead of from its own types.
"""

from collections.abc import Iterable, Mapping

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.openapi.definitions import GVK, INFO, NAMED_SCALARS, Definitions, Dialect
from mooring.apiserver.openapi.names import Names
from mooring.apiserver.openapi.operations import PRETTY, Operation, Parameter, PathItem, paths, tag
from mooring.apiserver.schema.contract import Scalar, Schema
from mooring.model.document import Doc


def document(kinds: Iterable[Kind], schema: Schema, names: Names) -> Doc:
    """The document of one group-version. Raises: UnknownMessage."""
    kinds = tuple(kinds)
    definitions = Definitions(schema, names, OPENAPI, kinds)
    described = {
        item.path: _path(item, tag(kind), definitions)
        for kind in kinds
        for item in paths(kind, schema)
    }
    return {
        "openapi": "3.0.0",
        "info": INFO,
        "paths": dict(sorted(described.items())),
        "components": {"schemas": definitions.made()},
    }


def index(digests: Mapping[str, str]) -> Doc:
    """Where the documents are; an address changes with what is found there."""
    return {
        "paths": {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
            for name, digest in digests.items()
        }
    }


def document_name(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _path(item: PathItem, in_bundle: str, definitions: Definitions) -> Doc:
    described: Doc = {
        operation.method: _operation(operation, in_bundle, definitions)
        for operation in item.operations
    }
    described["parameters"] = [*map(_in_path, item.names), _in_query(PRETTY)]
    return described


def _operation(operation: Operation, in_bundle: str, definitions: Definitions) -> Doc:
    code, word = operation.success
    answer: Doc = {"description": word}
    if operation.gives_list_of:
        answer["content"] = _json(definitions.list_ref(operation.gives_list_of))
    elif operation.gives:
        answer["content"] = _json(definitions.ref(operation.gives))
    described: Doc = {
        "operationId": operation.id,
        "tags": [in_bundle],
        "parameters": [_in_query(parameter) for parameter in operation.parameters],
        "responses": {code: answer},
        "x-kubernetes-action": operation.action,
        GVK: operation.kind,
    }
    if operation.takes:
        described["requestBody"] = {
            "content": {"*/*": {"schema": definitions.ref(operation.takes)}},
            "required": operation.method != "delete",
        }
    return described


def _json(schema: Doc) -> Doc:
    return {"application/json": {"schema": schema}}


def _in_path(name: str) -> Doc:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(parameter: Parameter) -> Doc:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": {"type": parameter.type},
    }


def _nested(ref: Doc, default: Doc | None) -> Doc:
    # OpenAPI 3.0 ignores what stands beside a `$ref`, so a description needs the detour.
    made: Doc = {"allOf": [ref]}
    if default is not None:
        made["default"] = default
    return made


def _either(scalar: Scalar, *types: str) -> Doc:
    made = {key: value for key, value in NAMED_SCALARS[scalar].items() if key != "type"}
    return {**made, "oneOf": [{"type": name} for name in types]}


OPENAPI = Dialect(
    root="#/components/schemas/",
    scalars={
        **NAMED_SCALARS,
        Scalar.QUANTITY: _either(Scalar.QUANTITY, "string", "number"),
        Scalar.INT_OR_STRING: _either(Scalar.INT_OR_STRING, "integer", "string"),
    },
    nested=_nested,
    custom=lambda schema: schema,
)
