"""Reads an openAPIV3Schema that has passed the checks (`schema_problems.py`) into nodes."""

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.apiserver.structural.contract import ListType, Node, Rule
from mooring.model.document import Doc

_LIST_TYPES = {"set": ListType.SET, "map": ListType.MAP}


def node_of(schema: Doc) -> Node:
    """The node of a schema, with all below it."""
    default = schema.get("default")
    items, additional = schema.get("items"), schema.get("additionalProperties")
    return Node(
        type=schema.get("type") or "",
        properties={k: node_of(s) for k, s in (schema.get("properties") or {}).items()},
        additional=node_of(additional) if isinstance(additional, dict) else additional,
        items=node_of(items) if isinstance(items, dict) else None,
        nullable=bool(schema.get("nullable")),
        default=msgspec.UNSET if default is None else default,
        preserve_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded_resource=bool(schema.get("x-kubernetes-embedded-resource")),
        int_or_string=bool(schema.get("x-kubernetes-int-or-string")),
        list_type=_LIST_TYPES.get(schema.get("x-kubernetes-list-type") or "", ListType.ATOMIC),
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        rules=tuple(_rules(schema.get("x-kubernetes-validations") or ())),
        written=schema,
    )


def _rules(entries: Iterable[Any]) -> Iterable[Rule]:
    for entry in entries:
        yield Rule(
            rule=entry.get("rule") or "",
            message=entry.get("message") or "",
            message_expression=entry.get("messageExpression") or "",
            reason=entry.get("reason") or "",
            field_path=entry.get("fieldPath") or "",
            optional_old_self=bool(entry.get("optionalOldSelf")),
        )
