"""Everything that is wrong with an openAPIV3Schema, as Kubernetes tells it."""

from collections.abc import Sequence

from mooring.apiserver.structural.default_rules import (
    DefaultChecks,
    RulesCheck,
    default_problems,
    has_unpruned,
    unruled,
)
from mooring.apiserver.structural.embedded import MetadataCheck, unchecked
from mooring.apiserver.structural.formats import unrecognized_formats
from mooring.apiserver.structural.list_type_rules import map_key_problems, set_item_problems
from mooring.apiserver.structural.openapi_rules import TYPES, Demands, openapi_problems
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.schema_shape import schemas_in, shape_problems
from mooring.apiserver.structural.structural_rules import is_structural, structural_problems
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid

# Keywords that a schema with a status may have at its root, as upstream's text lists them.
_AT_ROOT = (
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
    "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties "
    "ExternalDocs Example XPreserveUnknownFields XValidations]"
)
_NOT_AT_ROOT_FIRST = ("id", "$schema", "$ref")
_NOT_AT_ROOT = (
    *("nullable", "default", "maxProperties", "minProperties", "enum", "allOf", "oneOf", "anyOf"),
    *("not", "additionalProperties", "patternProperties", "dependencies", "additionalItems"),
    *("definitions", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    *("x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type"),
)
_UNREADABLE = ("id", "$schema", "$ref", "patternProperties", "dependencies", "definitions")


def schema_problems(
    schema: Doc,
    at: str,
    *,
    old: Sequence[Doc] = (),
    has_status: bool = False,
    check_metadata: MetadataCheck = unchecked,
    check_rules: RulesCheck = unruled,
) -> list[FieldError]:
    """What CRD validation reports about a schema.

    `at`: the path of the schema itself, `spec.validation.openAPIV3Schema`. `old`: the schemas of
    all stored versions on an update: what one of them breaks is not enforced. `has_status`: the
    status subresource is enabled. `check_metadata`, `check_rules`: for defaults.
    The rules (CEL) are not compiled here; their fields (`rule`, `message`, `reason`) are checked.
    """
    if misshapen := shape_problems(schema, at):
        return misshapen
    path, demands = (None, at), demands_of(old)
    errors = list(_root_problems(schema, at, has_status=has_status))
    unreadable = _unreadable(schema)
    if not unreadable:
        found = structural_problems(schema, path)
        errors += found or default_problems(
            node_of(schema),
            path,
            DefaultChecks(check_metadata, check_rules),
            pruned=demands.pruned_defaults,
        )
    errors += openapi_problems(schema, path, demands)
    if unreadable and not errors:
        errors.append(invalid(at, "", unreadable))
    return errors


def demands_of(stored: Sequence[Doc]) -> Demands:
    """What is asked of a schema whose definition has these schemas so far."""
    readable = [schema for schema in stored if not shape_problems(schema, "")]
    parts = [part for schema in readable for _, _, part in schemas_in(schema, None)]
    sound = [schema for schema in readable if not _unreadable(schema) and is_structural(schema)]
    return Demands(
        known_types=all((part.get("type") or "object") in TYPES for part in parts),
        pruned_defaults=not any(has_unpruned(node_of(schema)) for schema in sound),
        atomic_set_items=not any(list(set_item_problems(part, None)) for part in parts),
        firm_map_keys=not any(list(map_key_problems(part, None)) for part in parts),
    )


def format_warnings(schema: Doc, old: Sequence[Doc] = ()) -> list[str]:
    """Warnings about formats that nobody checks, without those that were there before."""
    known = {name for before in old for name in unrecognized_formats(_all(before))}
    found = dict.fromkeys(unrecognized_formats(_all(schema)))
    return [f'unrecognized format "{name}"' for name in found if name not in known]


def _all(schema: Doc) -> list[Doc]:
    return [part for _, _, part in schemas_in(schema, None)]


def _root_problems(schema: Doc, at: str, *, has_status: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    type_ = schema.get("type") or ""
    if has_status:
        detail = f"only {_AT_ROOT} fields are allowed at the root of the schema"
        condition = "if the status subresource is enabled"
        if any(schema.get(keyword) is not None for keyword in _NOT_AT_ROOT_FIRST):
            errors.append(invalid(at, schema, f"{detail} {condition}"))
        elif type_ and type_ != "object":
            only = 'only "object" is allowed as the type at the root of the schema'
            errors.append(invalid(f"{at}.type", type_, f"{only} {condition}"))
        elif any(_is_set(schema, keyword) for keyword in _NOT_AT_ROOT):
            errors.append(invalid(at, schema, f"{detail} {condition}"))
    if schema.get("nullable"):
        errors.append(forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    return errors


def _is_set(schema: Doc, keyword: str) -> bool:
    value = schema.get(keyword)
    is_false = value is False and keyword not in ("additionalProperties", "default")
    return value is not None and not is_false


def _unreadable(schema: Doc) -> str:
    """What keeps a schema from being read as a structural one at all."""
    for _, _, part in schemas_in(schema, None):
        for keyword in _UNREADABLE:
            if part.get(keyword):
                return f"OpenAPIV3Schema '{keyword.removeprefix('$')}' is not supported"
        if part.get("additionalItems") is not None:
            return "OpenAPIV3Schema 'additionalItems' is not supported"
        if isinstance(part.get("items"), list):
            return "OpenAPIV3Schema 'items' must be a schema, but is an array"
        if part.get("x-kubernetes-preserve-unknown-fields") is False:
            return (
                "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
            )
    return ""
