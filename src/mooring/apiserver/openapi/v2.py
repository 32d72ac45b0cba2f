"""Swagger 2.0: everything in one document, made of one part per group-version."""

from collections.abc import Iterable

import msgspec

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.openapi.custom_schema import root_for_swagger
from mooring.apiserver.openapi.definitions import GVK, INFO, NAMED_SCALARS, Definitions, Dialect
from mooring.apiserver.openapi.names import Names
from mooring.apiserver.openapi.operations import PRETTY, Operation, Parameter, PathItem, paths, tag
from mooring.apiserver.schema.contract import Schema
from mooring.model.document import Doc


class SwaggerPart(msgspec.Struct, frozen=True):
    """What one group-version adds to the document."""

    paths: dict[str, Doc]
    definitions: dict[str, Doc]


def part(kinds: Iterable[Kind], schema: Schema, names: Names) -> SwaggerPart:
    """The part of one group-version. Raises: UnknownMessage."""
    kinds = tuple(kinds)
    definitions = Definitions(schema, names, SWAGGER, kinds)
    described = {
        item.path: _path(item, tag(kind), definitions)
        for kind in kinds
        for item in paths(kind, schema)
    }
    return SwaggerPart(described, definitions.made())


def document(parts: Iterable[SwaggerPart]) -> Doc:
    described: dict[str, Doc] = {}
    definitions: dict[str, Doc] = {}
    for one in parts:
        described |= one.paths
        definitions |= one.definitions
    return {
        "swagger": "2.0",
        "info": INFO,
        "paths": dict(sorted(described.items())),
        "definitions": dict(sorted(definitions.items())),
    }


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
        answer["schema"] = definitions.list_ref(operation.gives_list_of)
    elif operation.gives:
        answer["schema"] = definitions.ref(operation.gives)
    parameters = [_in_query(parameter) for parameter in operation.parameters]
    if operation.takes:
        body = definitions.ref(operation.takes)
        parameters.append(
            {
                "name": "body",
                "in": "body",
                "required": operation.method != "delete",
                "schema": body,
            }
        )
    return {
        "operationId": operation.id,
        "tags": [in_bundle],
        "consumes": ["*/*"],
        "produces": ["application/json"],
        "parameters": parameters,
        "responses": {code: answer},
        "x-kubernetes-action": operation.action,
        GVK: operation.kind,
    }


def _in_path(name: str) -> Doc:
    return {"name": name, "in": "path", "required": True, "type": "string"}


def _in_query(parameter: Parameter) -> Doc:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "type": parameter.type,
    }


def _nested(ref: Doc, _: Doc | None) -> Doc:
    return dict(ref)


SWAGGER = Dialect(
    root="#/definitions/", scalars=NAMED_SCALARS, nested=_nested, custom=root_for_swagger
)
