"""OpenAPI as kubectl and other clients fetch it."""

from typing import Any

import pytest

from mooring.apiserver.codec.protobuf_wire import CHUNK, read_chunk, read_tag, skip
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import STORED

Doc = dict[str, Any]

GVK = "x-kubernetes-group-version-kind"
PROTOBUF_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF_ANSWERED = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


async def document(api: ApiUnderTest, group_version: str) -> Doc:
    return (await api.get(f"/openapi/v3/{group_version}")).doc


async def test_the_index_leads_to_documents_that_can_be_kept(api: ApiUnderTest) -> None:
    index = (await api.get("/openapi/v3")).doc["paths"]
    assert {"api/v1", "apis/storage.k8s.io/v1", "apis/snapshot.storage.k8s.io/v1"} <= index.keys()
    for name, entry in index.items():
        url = entry["serverRelativeURL"]
        assert url.startswith(f"/openapi/v3/{name}?hash=")
        answer = await api.get(url)
        assert answer.code == 200
        assert answer.doc["openapi"].startswith("3.0")


async def test_a_wrong_hash_leads_to_the_right_one(api: ApiUnderTest) -> None:
    answer = await api.get("/openapi/v3/api/v1?hash=STALE")
    assert answer.code == 301
    right = answer.header("Location")
    assert right
    assert (await api.get(right)).code == 200


async def test_what_is_not_served_is_not_described(api: ApiUnderTest) -> None:
    assert (await api.get("/openapi/v3/apis/example.com/v1")).code == 404


@pytest.mark.parametrize("kind", STORED)
async def test_every_kind_is_found_as_explain_looks_for_it(api: ApiUnderTest, kind: str) -> None:
    collection, build = STORED[kind]
    doc = build()
    group_version = "/".join(collection.split("/")[1 : 3 if collection.startswith("/api/") else 4])
    plural = collection.rpartition("/")[2]
    described = await document(api, group_version)
    group, _, version = doc["apiVersion"].rpartition("/")
    gvk = {"group": group, "version": version, "kind": doc["kind"]}
    # kubectl 1.27 knows the path without namespace alone
    operations = described["paths"][f"/{group_version}/{plural}"]
    assert operations["get"][GVK] == gvk
    schema = next(
        (s for s in described["components"]["schemas"].values() if gvk in s.get(GVK, [])), None
    )
    assert schema is not None
    assert {"apiVersion", "kind", "metadata"} <= schema["properties"].keys()


@pytest.mark.parametrize("kind", STORED)
async def test_patches_offer_server_side_validation(api: ApiUnderTest, kind: str) -> None:
    """That makes kubectl leave validation to the server."""
    collection, _ = STORED[kind]
    group_version = "/".join(collection.split("/")[1 : 3 if collection.startswith("/api/") else 4])
    described = await document(api, group_version)
    path = f"{collection.replace('/default/', '/{namespace}/')}/{{name}}"
    patch = described["paths"][path]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert "application/strategic-merge-patch+json" not in str(patch.get("requestBody", ""))


async def test_references_lead_somewhere(api: ApiUnderTest) -> None:
    for name in (await api.get("/openapi/v3")).doc["paths"]:
        described = await document(api, name)
        known = {f"#/components/schemas/{key}" for key in described["components"]["schemas"]}
        assert set(references(described)) <= known, name
    swagger = (await api.get("/openapi/v2", accept="application/json")).doc
    known = {f"#/definitions/{key}" for key in swagger["definitions"]}
    known |= {f"#/parameters/{key}" for key in swagger.get("parameters", {})}
    assert set(references(swagger)) <= known


def references(value: Any) -> list[str]:
    match value:
        case {"$ref": str(target)}:
            return [target]
        case dict():
            return [found for item in value.values() for found in references(item)]
        case list():
            return [found for item in value for found in references(item)]
        case _:
            return []


@pytest.mark.parametrize(
    "accept",
    [
        PROTOBUF_ASKED,
        PROTOBUF_ANSWERED,
        f"{PROTOBUF_ASKED},application/json;q=0.5",
    ],
)
async def test_swagger_for_kubectl_is_protobuf(api: ApiUnderTest, accept: str) -> None:
    answer = await api.get("/openapi/v2?timeout=32s", accept=accept)
    assert answer.code == 200
    assert answer.content_type == PROTOBUF_ANSWERED
    assert "@" not in answer.content_type
    fields = top_fields(answer.body)
    assert fields[1] == b"2.0"
    assert b"PersistentVolumeClaim" in fields[9], "definitions"
    assert b"/api/v1/persistentvolumes" in fields[8], "paths"


def top_fields(data: bytes) -> dict[int, bytes]:
    """The outermost fields of a protobuf message."""
    fields: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        number, wire, at = read_tag(data, at, len(data))
        if wire == CHUNK:
            begin, at = read_chunk(data, at, len(data))
            fields[number] = data[begin:at]
        else:
            at = skip(data, at, len(data), wire)
    return fields


@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
async def test_swagger_for_others_is_json(api: ApiUnderTest, accept: str) -> None:
    headers = {"accept": accept} if accept else {}
    answer = await api.get("/openapi/v2", **headers)
    assert answer.code == 200
    assert answer.content_type == "application/json"
    assert answer.doc["swagger"] == "2.0"
    assert answer.doc["info"]["title"]


async def test_swagger_in_no_other_form(api: ApiUnderTest) -> None:
    assert (await api.get("/openapi/v2", accept="text/html")).code == 406


async def test_fields_of_a_claim_can_be_explained(api: ApiUnderTest) -> None:
    """`kubectl explain pvc.spec`: each field has a type and a description that is not empty."""
    described = await document(api, "api/v1")
    schemas = described["components"]["schemas"]
    claim = next(
        schema
        for schema in schemas.values()
        if any(gvk["kind"] == "PersistentVolumeClaim" for gvk in schema.get(GVK, []))
    )
    spec = claim["properties"]["spec"]
    (target,) = [part["$ref"] for part in spec["allOf"]]
    fields = schemas[target.rpartition("/")[2]]["properties"]
    assert {"accessModes", "resources", "storageClassName", "volumeMode"} <= fields.keys()
    assert fields["accessModes"]["type"] == "array"
    assert fields["storageClassName"]["type"] == "string"
