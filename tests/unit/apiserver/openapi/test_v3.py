import re
from collections.abc import Sequence
from typing import Any

import pytest

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.openapi import v3
from mooring.apiserver.openapi.names import names
from mooring.apiserver.schema.contract import Schema
from mooring.apiserver.schema.parse import load
from tests.unit.apiserver.openapi.documents import references, resolve
from tests.unit.apiserver.small_api import POD, SECRET, SMALL_SCHEMA, small_kinds

GVK = "x-kubernetes-group-version-kind"
AS_POD = {"group": "", "version": "v1", "kind": "Pod"}
ONE_POD = "/api/v1/namespaces/{namespace}/pods/{name}"


def document(kinds: Sequence[Kind], schema: Schema = SMALL_SCHEMA) -> Any:
    every = small_kinds().all() if schema is SMALL_SCHEMA else builtin().all()
    return v3.document(kinds, schema, names(every, schema))


@pytest.fixture(scope="module")
def core() -> Any:
    return document((POD, SECRET))


def test_the_frame(core: Any) -> None:
    assert core["openapi"] == "3.0.0"
    assert core["info"]["title"]
    assert core["info"]["version"]
    assert list(core["paths"]) == sorted(core["paths"])


def test_operations_name_one_kind_and_schemas_a_list_of_them(core: Any) -> None:
    assert core["paths"]["/api/v1/pods"]["get"][GVK] == AS_POD
    assert core["components"]["schemas"]["io.k8s.api.core.v1.Pod"][GVK] == [AS_POD]


def test_a_patch_promises_field_validation_and_declares_no_body(core: Any) -> None:
    patches = [item["patch"] for item in core["paths"].values() if "patch" in item]
    assert patches
    for patch in patches:
        assert "requestBody" not in patch
        declared = {(p["name"], p["in"]) for p in patch["parameters"]}
        assert {("fieldValidation", "query"), ("dryRun", "query")} <= declared


def test_bodies_and_answers(core: Any) -> None:
    pod = {"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}
    put = core["paths"][ONE_POD]["put"]
    assert put["requestBody"] == {"content": {"*/*": {"schema": pod}}, "required": True}
    assert put["responses"]["200"]["content"] == {"application/json": {"schema": pod}}
    post = core["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"]
    assert list(post["responses"]) == ["201"]
    assert core["paths"][ONE_POD]["delete"]["requestBody"]["required"] is False
    assert "content" not in core["paths"][f"{ONE_POD}/log"]["get"]["responses"]["200"]


def test_an_eviction_is_described_though_its_group_is_not_served(core: Any) -> None:
    eviction = core["components"]["schemas"]["io.k8s.api.policy.v1.Eviction"]
    assert eviction[GVK] == [{"group": "policy", "version": "v1", "kind": "Eviction"}]


def test_the_index_gives_each_document_an_address_of_its_own() -> None:
    assert v3.index({"api/v1": "AB12"}) == {
        "paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=AB12"}}
    }


NAMES = {"the core": ("", "api/v1"), "a group": ("storage.k8s.io", "apis/storage.k8s.io/v1")}


@pytest.mark.parametrize(("group", "name"), NAMES.values(), ids=NAMES)
def test_document_name(group: str, name: str) -> None:
    assert v3.document_name(group, "v1") == name


def group_versions() -> list[tuple[str, str]]:
    return sorted({(kind.group, kind.version) for kind in builtin().all()})


@pytest.fixture(scope="module", params=group_versions(), ids="/".join)
def served(request: pytest.FixtureRequest) -> Any:
    """The document of each group-version that a server starts with."""
    kinds = [kind for kind in builtin().all() if (kind.group, kind.version) == request.param]
    return document(kinds, load())


def test_every_reference_leads_somewhere(served: Any) -> None:
    found = set(references(served))
    assert found
    for reference in found:
        assert resolve(served, reference)


def test_parameters_of_a_path_are_those_in_its_braces(served: Any) -> None:
    for path, item in served["paths"].items():
        declared = {p["name"] for p in item["parameters"] if p["in"] == "path"}
        assert declared == set(re.findall(r"\{(\w+)\}", path))


def test_operation_ids_are_unique(served: Any) -> None:
    ids = [
        operation["operationId"]
        for item in served["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(ids) == len(set(ids))


def test_every_operation_answers_something(served: Any) -> None:
    for item in served["paths"].values():
        for method, operation in item.items():
            if method != "parameters":
                assert all(answer["description"] for answer in operation["responses"].values())


def test_every_kind_that_an_operation_stores_has_a_schema(served: Any) -> None:
    """What `kubectl explain` does: the kind of a collection, then the schema of that kind."""
    described = [
        as_kind
        for schema in served["components"]["schemas"].values()
        for as_kind in schema.get(GVK, ())
    ]
    for item in served["paths"].values():
        for method in ("post", "put", "patch"):
            if method in item and "content" in next(iter(item[method]["responses"].values())):
                assert item[method][GVK] in described


def test_required_names_are_properties(served: Any) -> None:
    for schema in served["components"]["schemas"].values():
        assert set(schema.get("required", ())) <= set(schema.get("properties", ()))
