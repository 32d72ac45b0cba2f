"""Which form an answer takes, and which error wins when a request is wrong in several ways."""

from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CONFIG_MAPS, SNAPSHOTS, a_config_map, a_snapshot

Doc = dict[str, Any]

OBJECT = f"{CONFIG_MAPS}/kube-root-ca.crt"
META = "v=v1;g=meta.k8s.io"

ACCEPTED = {
    "nothing": ("", "ConfigMap"),
    "anything": ("*/*", "ConfigMap"),
    "any application": ("application/*", "ConfigMap"),
    "JSON": ("application/json", "ConfigMap"),
    "JSON with a charset": ("application/json; charset=utf-8", "ConfigMap"),
    "a browser": ("text/html,*/*;q=0.1", "ConfigMap"),
    "typed clients: protobuf, else JSON": (
        "application/vnd.kubernetes.protobuf,application/json",
        "ConfigMap",
    ),
    "CBOR, else JSON": ("application/cbor;q=0.9,application/json;q=0.8", "ConfigMap"),
    "a table": (f"application/json;as=Table;{META}", "Table"),
    "a table, as kubectl asks": (
        f"application/json;as=Table;{META},"
        "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
        "Table",
    ),
    "a form unknown, else JSON": (
        f"application/json;as=Chart;{META},application/json",
        "ConfigMap",
    ),
    "metadata": (f"application/json;as=PartialObjectMetadata;{META}", "PartialObjectMetadata"),
    "metadata by protobuf, else by JSON": (
        f"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;{META},"
        f"application/json;as=PartialObjectMetadata;{META},application/json",
        "PartialObjectMetadata",
    ),
}


@pytest.mark.parametrize(("accept", "kind"), ACCEPTED.values(), ids=ACCEPTED)
async def test_forms_of_an_object(api: ApiUnderTest, accept: str, kind: str) -> None:
    headers = {"accept": accept} if accept else {}
    answer = await api.get(OBJECT, **headers)
    assert answer.code == 200
    assert answer.content_type == "application/json"
    assert answer.doc["kind"] == kind


LISTS = {
    "JSON": ("application/json", "ConfigMapList"),
    "a table": (f"application/json;as=Table;{META}", "Table"),
    "metadata": (
        f"application/json;as=PartialObjectMetadataList;{META}",
        "PartialObjectMetadataList",
    ),
}


@pytest.mark.parametrize(("accept", "kind"), LISTS.values(), ids=LISTS)
async def test_forms_of_a_list(api: ApiUnderTest, accept: str, kind: str) -> None:
    answer = await api.get(CONFIG_MAPS, accept=accept)
    assert answer.doc["kind"] == kind
    if kind == "PartialObjectMetadataList":
        assert answer.doc["apiVersion"] == "meta.k8s.io/v1"
        assert answer.doc["metadata"]["resourceVersion"]
        (item,) = answer.doc["items"]
        assert item.keys() == {"kind", "apiVersion", "metadata"}


REFUSED = {
    "HTML alone": "text/html",
    "protobuf alone": "application/vnd.kubernetes.protobuf",
    "a form unknown alone": f"application/json;as=Chart;{META}",
    "a version unknown": "application/json;as=Table;v=v9;g=meta.k8s.io",
    "JSON, but at no price": "application/json;q=0",
}


@pytest.mark.parametrize("accept", REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_had_is_406(api: ApiUnderTest, accept: str) -> None:
    answer = await api.get(OBJECT, accept=accept)
    assert (answer.code, answer.doc["reason"]) == (406, "NotAcceptable")


PROTOBUF = "application/vnd.kubernetes.protobuf"

# method, path, body, headers, without a token?
PIPELINE: dict[str, tuple[str, str, Any, Doc, int]] = {
    "401 before all": ("POST", "/nowhere", b"{", {"authorization": "Bearer x"}, 401),
    "404 before 406": ("GET", "/api/v1/nowhere", None, {"accept": "text/html"}, 404),
    "405 before 406": ("PUT", CONFIG_MAPS, b"{", {"accept": "text/html"}, 405),
    "406 before 415": (
        "POST",
        CONFIG_MAPS,
        b"x",
        {"accept": "text/html", "content-type": "text/plain"},
        406,
    ),
    "415 before the options": (
        "POST",
        f"{CONFIG_MAPS}?dryRun=Some",
        b"x",
        {"content-type": "text/plain"},
        415,
    ),
    "options before the body": (
        "POST",
        f"{CONFIG_MAPS}?dryRun=Some",
        b"{",
        {"content-type": "application/json"},
        422,
    ),
    "the body before the namespace": (
        "POST",
        "/api/v1/namespaces/gone/configmaps",
        b"{",
        {"content-type": "application/json"},
        400,
    ),
    "the namespace before validation": (
        "POST",
        "/api/v1/namespaces/gone/configmaps",
        a_config_map("Bad_Name"),
        {},
        404,
    ),
    "custom kinds take no protobuf": (
        "POST",
        SNAPSHOTS,
        b"k8s\x00",
        {"content-type": PROTOBUF},
        415,
    ),
}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "code"), PIPELINE.values(), ids=PIPELINE
)
async def test_which_refusal_wins(
    api: ApiUnderTest, method: str, path: str, body: Any, headers: dict[str, str], code: int
) -> None:
    answer = await api.ask(method, path, body, headers)
    assert answer.code == code, answer.text


async def test_refusals_are_json_whatever_is_accepted(api: ApiUnderTest) -> None:
    answer = await api.get(f"{CONFIG_MAPS}/gone", accept=f"application/json;as=Table;{META}")
    assert answer.content_type == "application/json"
    assert answer.doc["kind"] == "Status"


async def test_custom_kinds_are_answered_in_every_form(api: ApiUnderTest) -> None:
    await api.post(SNAPSHOTS, a_snapshot())
    for accept, kind in (
        ("application/json", "VolumeSnapshot"),
        (f"application/json;as=Table;{META}", "Table"),
        (f"application/json;as=PartialObjectMetadata;{META}", "PartialObjectMetadata"),
    ):
        assert (await api.get(f"{SNAPSHOTS}/snap", accept=accept)).doc["kind"] == kind
