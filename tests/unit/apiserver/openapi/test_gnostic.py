"""Decodes what was encoded, by field numbers written down here a second time."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.openapi import gnostic, v2
from mooring.apiserver.openapi.names import names
from tests.unit.apiserver.small_api import POD, SMALL_SCHEMA, STORAGE_CLASS, small_kinds

Message = dict[int, list[bytes]]
CORE = "io.k8s.api.core.v1"
GVK = "x-kubernetes-group-version-kind"


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        assert key & 7 == 2, "only length-delimited fields are written"
        size, at = varint(data, at)
        assert at + size <= len(data)
        yield key >> 3, data[at : at + size]
        at += size


def read(data: bytes) -> Message:
    message: Message = {}
    for number, payload in fields(data):
        message.setdefault(number, []).append(payload)
    return message


def one(message: Message, number: int) -> bytes:
    [payload] = message[number]
    return payload


def text(message: Message, number: int) -> str:
    return one(message, number).decode()


def named(pairs: list[bytes]) -> dict[str, bytes]:
    """Repeated {1 name, 2 value}."""
    return {text(read(pair), 1): one(read(pair), 2) for pair in pairs}


def extensions(message: Message, number: int) -> dict[str, Any]:
    return {
        name: msgspec.yaml.decode(one(read(value), 2))
        for name, value in named(message.get(number, [])).items()
    }


@pytest.fixture(scope="module")
def document() -> Message:
    known = names(small_kinds().all(), SMALL_SCHEMA)
    swagger = v2.document(v2.part((kind,), SMALL_SCHEMA, known) for kind in (POD, STORAGE_CLASS))
    return read(gnostic.encode(swagger))


@pytest.fixture(scope="module")
def definitions(document: Message) -> dict[str, Message]:
    schemas = named(read(one(document, 9))[1])
    return {name: read(schema) for name, schema in schemas.items()}


def properties(schema: Message) -> dict[str, Message]:
    return {name: read(value) for name, value in named(read(one(schema, 25))[1]).items()}


def test_the_frame(document: Message) -> None:
    assert text(document, 1) == "2.0"
    info = read(one(document, 2))
    assert (text(info, 1), text(info, 2)) == ("Mooring", "v1")


def test_a_patch_tells_its_kind_and_its_query_parameters(document: Message) -> None:
    paths = named(read(one(document, 8))[2])
    patch = read(one(read(paths["/api/v1/namespaces/{namespace}/pods/{name}"]), 8))
    assert extensions(patch, 13)[GVK] == {"group": "", "version": "v1", "kind": "Pod"}
    queried = {}
    for item in patch[8]:
        query = read(one(read(one(read(one(read(item), 1)), 2)), 3))
        queried[text(query, 4)] = (text(query, 2), text(query, 6))
    assert queried["fieldValidation"] == ("query", "string")
    assert queried["dryRun"] == ("query", "string")
    assert queried["force"] == ("query", "boolean")
    assert one(patch, 9) == b""


def test_methods_have_their_numbers(document: Message) -> None:
    paths = named(read(one(document, 8))[2])
    assert sorted(read(paths["/api/v1/namespaces/{namespace}/pods/{name}"])) == [2, 3, 5, 8]
    assert sorted(read(paths["/api/v1/namespaces/{namespace}/pods"])) == [2, 4, 5]


def test_a_kind(definitions: dict[str, Message]) -> None:
    pod = definitions[f"{CORE}.Pod"]
    assert text(pod, 4) == "Containers that run together."
    assert text(read(one(pod, 22)), 1) == "object"
    assert extensions(pod, 31)[GVK] == [{"group": "", "version": "v1", "kind": "Pod"}]
    spec = properties(pod)["spec"]
    assert text(spec, 1) == f"#/definitions/{CORE}.PodSpec"
    assert text(spec, 4) == "What shall run."
    assert 22 not in spec


def test_lists_maps_and_merge_keys(definitions: dict[str, Message]) -> None:
    spec = definitions[f"{CORE}.PodSpec"]
    assert spec[19] == [b"containers"]
    containers = properties(spec)["containers"]
    assert text(read(one(containers, 22)), 1) == "array"
    assert text(read(one(read(one(containers, 23)), 1)), 1) == f"#/definitions/{CORE}.Container"
    merging = extensions(containers, 31)
    assert merging["x-kubernetes-patch-merge-key"] == "name"
    assert merging["x-kubernetes-list-map-keys"] == ["name"]
    overhead = read(one(read(one(properties(spec)["overhead"], 21)), 1))
    assert text(overhead, 1).endswith("Quantity")


def test_formats(definitions: dict[str, Message]) -> None:
    assert text(definitions["io.k8s.apimachinery.pkg.apis.meta.v1.Time"], 2) == "date-time"


def test_every_reference_leads_somewhere(definitions: dict[str, Message]) -> None:
    for schema in definitions.values():
        for field in properties(schema).values() if 25 in schema else ():
            if 1 in field:
                assert text(field, 1).removeprefix("#/definitions/") in definitions


@given(name=st.text(min_size=1, max_size=300), description=st.text(max_size=20_000))
def test_any_text_of_any_length_survives(name: str, description: str) -> None:
    swagger = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "v"},
        "paths": {},
        "definitions": {name: {"description": description}},
    }
    [(found, schema)] = named(read(one(read(gnostic.encode(swagger)), 9))[1]).items()
    assert found == name
    assert text(read(schema), 4) == description
