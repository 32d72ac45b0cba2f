from typing import Any

import pytest

from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.openapi import v2
from mooring.apiserver.openapi.names import names
from mooring.apiserver.schema.parse import load
from tests.unit.apiserver.openapi.documents import references, resolve
from tests.unit.apiserver.small_api import POD, SMALL_SCHEMA, STORAGE_CLASS, small_kinds

GVK = "x-kubernetes-group-version-kind"
ONE_POD = "/api/v1/namespaces/{namespace}/pods/{name}"


@pytest.fixture(scope="module")
def small() -> Any:
    known = names(small_kinds().all(), SMALL_SCHEMA)
    return v2.document(v2.part((kind,), SMALL_SCHEMA, known) for kind in (POD, STORAGE_CLASS))


@pytest.fixture(scope="module")
def whole() -> Any:
    """The document a server starts with."""
    known = names(builtin().all(), load())
    return v2.document([v2.part(builtin().all(), load(), known)])


def test_the_parts_make_one_document(small: Any) -> None:
    assert small["swagger"] == "2.0"
    assert "/api/v1/pods" in small["paths"]
    assert "/apis/storage.k8s.io/v1/storageclasses" in small["paths"]
    assert list(small["paths"]) == sorted(small["paths"])
    assert list(small["definitions"]) == sorted(small["definitions"])


def test_operations_name_one_kind_and_definitions_a_list_of_them(small: Any) -> None:
    as_pod = {"group": "", "version": "v1", "kind": "Pod"}
    assert small["paths"][ONE_POD]["patch"][GVK] == as_pod
    assert small["definitions"]["io.k8s.api.core.v1.Pod"][GVK] == [as_pod]


def test_query_parameters_stand_in_the_operation_where_old_clients_look(small: Any) -> None:
    declared = {p["name"]: p for p in small["paths"][ONE_POD]["patch"]["parameters"]}
    assert declared["fieldValidation"]["in"] == "query"
    assert declared["fieldValidation"]["type"] == "string"
    assert declared["dryRun"]["in"] == "query"
    assert "body" not in declared


def test_bodies_and_answers(small: Any) -> None:
    put = small["paths"][ONE_POD]["put"]
    pod = {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"}
    assert put["parameters"][-1] == {"name": "body", "in": "body", "required": True, "schema": pod}
    assert put["responses"] == {"200": {"description": "OK", "schema": pod}}


def test_every_reference_leads_somewhere(whole: Any) -> None:
    found = set(references(whole))
    assert len(found) > 100
    for reference in found:
        assert resolve(whole, reference)


def test_a_reference_has_no_type_beside_it(whole: Any) -> None:
    """kubectl refuses the whole document otherwise."""
    for definition in whole["definitions"].values():
        for field in definition.get("properties", {}).values():
            assert not {"$ref", "type"} <= field.keys()


def test_every_kind_can_be_found_by_its_group_version_and_kind(whole: Any) -> None:
    described = [as_kind for d in whole["definitions"].values() for as_kind in d.get(GVK, ())]
    for kind in builtin().all():
        assert {"group": kind.group, "version": kind.version, "kind": kind.kind} in described
