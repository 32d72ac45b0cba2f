from typing import Any

import pytest

from mooring.apiserver.openapi.definitions import Definitions, Dialect, UnknownMessage
from mooring.apiserver.openapi.names import names
from mooring.apiserver.openapi.v2 import SWAGGER
from mooring.apiserver.openapi.v3 import OPENAPI
from mooring.apiserver.schema.contract import Field, Message, Schema
from mooring.model.document import Doc
from tests.unit.apiserver.small_api import POD, SMALL_SCHEMA, small_kinds

CORE = "io.k8s.api.core.v1"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def definitions(dialect: Dialect = OPENAPI, schema: Schema = SMALL_SCHEMA) -> Definitions:
    return Definitions(schema, names(small_kinds().all(), SMALL_SCHEMA), dialect)


def made(message: str, dialect: Dialect = OPENAPI) -> dict[str, Doc]:
    described = definitions(dialect)
    described.ref(message)
    return described.made()


def in_v3(name: str) -> Doc:
    return {"$ref": f"#/components/schemas/{name}"}


def in_v2(name: str) -> Doc:
    return {"$ref": f"#/definitions/{name}"}


def test_all_that_is_reachable_is_described_and_nothing_else() -> None:
    assert list(made("core.v1.Pod")) == [
        f"{CORE}.Affinity",
        f"{CORE}.Container",
        f"{CORE}.Pod",
        f"{CORE}.PodSpec",
        f"{CORE}.Volume",
        f"{CORE}.VolumeSource",
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        f"{META}.ObjectMeta",
        f"{META}.Time",
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    ]


def test_a_kind_names_itself_and_its_fields() -> None:
    assert made("core.v1.Pod")[f"{CORE}.Pod"] == {
        "type": "object",
        "description": "Containers that run together.",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [in_v3(f"{META}.ObjectMeta")], "default": {}},
            "spec": {
                "allOf": [in_v3(f"{CORE}.PodSpec")],  # it demands containers: {} is no default
                "description": "What shall run.",
            },
        },
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
    }


PROPERTIES: dict[str, tuple[str, str, str, Doc]] = {
    "text": ("core.v1.PodSpec", "PodSpec", "nodeName", {"type": "string"}),
    "bytes are base64 text": (
        "core.v1.Secret",
        "Secret",
        "data",
        {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
    ),
    "a list that is replaced whole": (
        "core.v1.Container",
        "Container",
        "args",
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
    ),
    "a list of messages, merged by a key": (
        "core.v1.PodSpec",
        "PodSpec",
        "containers",
        {
            "type": "array",
            "items": in_v3(f"{CORE}.Container"),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
        },
    ),
    "a list whose items keep only the keys they are sent with": (
        "core.v1.PodSpec",
        "PodSpec",
        "volumes",
        {
            "type": "array",
            "items": in_v3(f"{CORE}.Volume"),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge,retainKeys",
        },
    ),
    "a map that is replaced whole": (
        "core.v1.PodSpec",
        "PodSpec",
        "nodeSelector",
        {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "x-kubernetes-map-type": "atomic",
        },
    ),
    "a map of scalars that have a name": (
        "core.v1.PodSpec",
        "PodSpec",
        "overhead",
        {
            "type": "object",
            "additionalProperties": in_v3("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        },
    ),
    "a message that may be absent has no default": (
        "core.v1.PodSpec",
        "PodSpec",
        "affinity",
        {"allOf": [in_v3(f"{CORE}.Affinity")]},
    ),
    "a message that is replaced whole by nature does not say it again": (
        "core.v1.PodSpec",
        "PodSpec",
        "affinity",
        {"allOf": [in_v3(f"{CORE}.Affinity")]},
    ),
    "a message that is merged against its nature": (
        "core.v1.PodSpec",
        "PodSpec",
        "owner",
        {"allOf": [in_v3(f"{CORE}.Affinity")], "x-kubernetes-map-type": "granular"},
    ),
    "a message that is replaced whole against its nature": (
        "core.v1.PodSpec",
        "PodSpec",
        "resources",
        {
            "allOf": [in_v3(f"{CORE}.VolumeSource")],
            "x-kubernetes-map-type": "atomic",
        },
    ),
    "a number or a text": (
        "core.v1.Container",
        "Container",
        "port",
        {"allOf": [in_v3("io.k8s.apimachinery.pkg.util.intstr.IntOrString")]},
    ),
}


@pytest.mark.parametrize(
    ("message", "name", "field", "expected"), PROPERTIES.values(), ids=PROPERTIES
)
def test_property(message: str, name: str, field: str, expected: Doc) -> None:
    assert made(message)[f"{CORE}.{name}"]["properties"][field] == expected


def test_a_set_is_merged_item_by_item() -> None:
    properties = made("meta.v1.ObjectMeta")[f"{META}.ObjectMeta"]["properties"]
    assert properties["finalizers"] == {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "set",
        "x-kubernetes-patch-strategy": "merge",
    }


def test_inline_fields_stand_in_the_parent_at_any_depth() -> None:
    described = made("core.v1.Volume")
    assert list(described) == [f"{CORE}.Volume"]
    assert described[f"{CORE}.Volume"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "optional": {"type": "boolean"},
            "secretName": {"type": "string"},
        },
        "required": ["name", "secretName"],
    }


def test_a_message_may_refer_to_itself() -> None:
    affinity = made("core.v1.Affinity")[f"{CORE}.Affinity"]
    assert affinity["properties"] == {"inner": {"allOf": [in_v3(f"{CORE}.Affinity")]}}
    assert affinity["x-kubernetes-map-type"] == "atomic"


def test_a_message_that_is_a_list_in_json() -> None:
    extra = made("authentication.v1.ExtraValue")["io.k8s.api.authentication.v1.ExtraValue"]
    assert extra == {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "atomic",
    }


SCALARS: dict[str, tuple[Dialect, str, dict[str, Any]]] = {
    "quantity in v3": (
        OPENAPI,
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    "quantity in v2": (
        SWAGGER,
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"type": "string"},
    ),
    "number or text in v3": (
        OPENAPI,
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "number or text in v2": (
        SWAGGER,
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "type": "string"},
    ),
    "time": (OPENAPI, f"{META}.Time", {"type": "string", "format": "date-time"}),
}


@pytest.mark.parametrize(("dialect", "name", "expected"), SCALARS.values(), ids=SCALARS)
def test_scalars_with_a_name(dialect: Dialect, name: str, expected: Doc) -> None:
    scalar = dict(made("core.v1.Pod", dialect)[name])
    assert scalar.pop("description")
    assert scalar == expected


def test_what_holds_json_is_an_object() -> None:
    described = made("snapshot.v1.SnapshotStatus")
    assert described["io.k8s.apimachinery.pkg.runtime.RawExtension"]["type"] == "object"
    assert described[f"{META}.FieldsV1"]["type"] == "object"


def test_v2_refers_without_a_detour() -> None:
    pod = made("core.v1.Pod", SWAGGER)[f"{CORE}.Pod"]
    assert pod["properties"]["spec"] == {
        **in_v2(f"{CORE}.PodSpec"),
        "description": "What shall run.",
    }


def test_a_list_of_a_kind() -> None:
    described = definitions()
    assert described.list_ref(POD) == in_v3(f"{CORE}.PodList")
    listed = described.made()[f"{CORE}.PodList"]
    assert listed["required"] == ["items"]
    assert listed["properties"]["items"] == {"type": "array", "items": in_v3(f"{CORE}.Pod")}
    assert listed["properties"]["metadata"]["allOf"] == [in_v3(f"{META}.ListMeta")]
    assert listed["x-kubernetes-group-version-kind"] == [
        {"group": "", "version": "v1", "kind": "PodList"}
    ]


def test_an_unknown_message_is_refused_however_deep_it_is() -> None:
    outer = Message("core.v1.Outer", {"inner": Field("inner", 1, "core.v1.Missing")})
    with pytest.raises(UnknownMessage, match=r"core\.v1\.Missing"):
        definitions(schema=Schema({outer.name: outer})).ref(outer.name)
