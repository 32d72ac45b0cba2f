"""The structural schemas of a definition: what is wrong with them, and what is odd about them."""

from collections.abc import Iterable

from mooring.apiserver.cel.rules import compile_rules
from mooring.apiserver.kinds.definition.shared_parts import parts
from mooring.apiserver.kinds.embedded_metadata import validate_embedded
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.schema_problems import format_warnings, schema_problems
from mooring.model.document import Doc
from mooring.model.field_error import FieldError


def validate_schemas(spec: Doc, old: Doc | None) -> Iterable[FieldError]:
    """`old` is the spec before an update: what was wrong with it already may stay so."""
    before = list(schemas(old)) if old is not None else []
    for part in parts(spec, "schema"):
        schema = part.value.get("openAPIV3Schema")
        if schema is None or schema in before:
            continue
        path = f"{part.path}.openAPIV3Schema"
        problems = schema_problems(
            schema,
            path,
            old=before,
            has_status="status" in (part.version.get("subresources") or {}),
            check_metadata=validate_embedded,
        )
        yield from problems
        rules = [] if problems else compile_rules(node_of(schema), path)
        if isinstance(rules, list):
            yield from rules


def schemas(spec: Doc) -> Iterable[Doc]:
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield schema


def schema_warnings(spec: Doc, old: Doc | None) -> Iterable[str]:
    before = list(schemas(old)) if old is not None else []
    told = (warning for schema in schemas(spec) for warning in format_warnings(schema, before))
    return dict.fromkeys(told)
