from typing import Any

import pytest

from mooring.apiserver.patching.apply import apply, check_declared
from mooring.apiserver.patching.managed_fields import after_update
from mooring.apiserver.patching.node_shape import shape_of_node
from mooring.apiserver.schema.parse import load
from mooring.apiserver.structural.parse import node_of
from mooring.errors import Conflict, ServerError
from mooring.model.document import Doc

TEXTS = {"type": "array", "items": {"type": "string"}}
SCHEMA: Doc = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "atoms": TEXTS,
                "tags": {**TEXTS, "x-kubernetes-list-type": "set"},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"},
                        },
                    },
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "whole": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                },
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "open": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"a": {"type": "string"}},
                },
            },
        }
    },
}
SHAPE = shape_of_node(node_of(SCHEMA), load())
NOW = "2026-01-02T03:04:05Z"


def owned(**spec: Any) -> Doc:
    doc = {"metadata": {"name": "a"}, "spec": spec}
    entries = after_update(
        None, doc, manager="m", api_version="x/v1", now=NOW, subresource="", shape=SHAPE
    )
    fields: Doc = entries[0]["fieldsV1"]["f:spec"]
    return {name: inner for name, inner in fields.items() if name != "."}


OWNED: dict[str, tuple[Doc, Doc]] = {
    "a list, as a whole": ({"atoms": ["a"]}, {"f:atoms": {}}),
    "a set, by value": ({"tags": ["a"]}, {"f:tags": {".": {}, 'v:"a"': {}}}),
    "a map list, by keys with their defaults": (
        {"ports": [{"port": 1}]},
        {"f:ports": {".": {}, 'k:{"port":1,"protocol":"TCP"}': {".": {}, "f:port": {}}}},
    ),
    "a map, by entry": ({"labels": {"a": "b"}}, {"f:labels": {".": {}, "f:a": {}}}),
    "an atomic object, as a whole": ({"whole": {"a": "b"}}, {"f:whole": {}}),
    "undeclared objects by entry, lists as a whole": (
        {"any": {"x": {"y": 1}, "z": [1]}},
        {"f:any": {".": {}, "f:x": {".": {}, "f:y": {}}, "f:z": {}}},
    ),
}


@pytest.mark.parametrize(("spec", "fields"), OWNED.values(), ids=OWNED)
def test_owned_is(spec: Doc, fields: Doc) -> None:
    assert owned(**spec) == fields


def applied(live: Doc | None, manager: str, **spec: Any) -> Doc:
    config = {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a"}, "spec": spec}
    check_declared(config, SHAPE)
    return apply(
        live,
        config,
        manager=manager,
        api_version="x/v1",
        now=NOW,
        subresource="",
        force=False,
        shape=SHAPE,
    )


def test_two_managers_share_what_merges() -> None:
    first = applied(None, "one", tags=["a"], ports=[{"port": 1}], any={"x": {"a": 1}})
    both = applied(first, "two", tags=["b"], ports=[{"port": 2}], any={"x": {"b": 2}})
    assert both["spec"]["tags"] == ["a", "b"]
    assert [port["port"] for port in both["spec"]["ports"]] == [1, 2]
    assert both["spec"]["any"] == {"x": {"a": 1, "b": 2}}


@pytest.mark.parametrize("field", ["atoms", "whole", "any"])
def test_two_managers_conflict_over_what_is_one_thing(field: str) -> None:
    values = {
        "atoms": (["a"], ["b"]),
        "whole": ({"a": "1"}, {"b": "2"}),
        "any": ({"l": [1]}, {"l": [2]}),
    }
    mine, theirs = values[field]
    first = applied(None, "one", **{field: mine})
    with pytest.raises(Conflict):
        applied(first, "two", **{field: theirs})


def test_what_a_manager_no_longer_applies_goes() -> None:
    first = applied(None, "one", size=1, any={"x": {"a": 1}, "y": 2})
    assert applied(first, "one", size=1, any={"y": 2})["spec"]["any"] == {"y": 2}


def test_a_field_that_is_not_declared_is_refused_unless_the_object_is_open() -> None:
    with pytest.raises(ServerError, match="field not declared in schema"):
        applied(None, "one", nothing=1)
    assert applied(None, "one", open={"a": "x", "more": 1})["spec"]["open"]["more"] == 1
