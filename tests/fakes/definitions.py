"""CustomResourceDefinitions for tests: a Widget, and what to change about it."""

from typing import Any

Doc = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SCHEMA: Doc = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "replicas": {"type": "integer"},
                "color": {"type": "string", "default": "red", "enum": ["red", "blue"]},
                "note": {"type": "string", "nullable": True},
                "word": {"type": "string"},
                "tags": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "set",
                },
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {"port": {"type": "integer"}, "name": {"type": "string"}},
                    },
                },
                "atoms": {"type": "array", "items": {"type": "string"}},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large."},
    {
        "name": "Ready",
        "type": "string",
        "jsonPath": ".status.conditions[?(@.type=='Ready')].status",
    },
    {"name": "Tags", "type": "string", "jsonPath": ".spec.tags", "priority": 1},
    {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def a_version(name: str = "v1", *, storage: bool = True, **changes: Any) -> Doc:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": SCHEMA},
        **changes,
    }


def a_definition(
    plural: str = "widgets",
    kind: str = "Widget",
    group: str = "example.com",
    versions: list[Doc] | None = None,
    **names: Any,
) -> Doc:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": versions or [a_version(subresources={"status": {}})],
        },
    }


def a_widget(name: str = "w", version: str = "v1", **spec: Any) -> Doc:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 3, **spec},
    }
