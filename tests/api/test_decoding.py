"""Bodies: what is read, what is refused, and what is only remarked on."""

import json
from typing import Any

import pytest

from mooring.apiserver.request.message import Request, Response
from tests.api.answers import causes, message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CLAIMS, CONFIG_MAPS, SNAPSHOTS, a_claim, a_config_map, a_snapshot

Doc = dict[str, Any]

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

UNREADABLE = {
    "broken JSON": (b"{bad json", "json parse error"),
    "no body at all": (b"", "json parse error"),
    "a list": (b"[]", "cannot unmarshal array"),
    "a string": (b'"x"', "cannot unmarshal string"),
    "a number": (b"7", "cannot unmarshal number"),
    "an object and then something else": (b'{"metadata":{"name":"a"}} x', "json parse error"),
    "two objects": (b'{"metadata":{"name":"a"}}{"metadata":{"name":"b"}}', "json parse error"),
    "lists in lists, 100000 deep": (b'{"data":' + b"[" * 100_000, "json parse error"),
    "objects in objects, 100000 deep": (b'{"a":' * 100_000, "json parse error"),
    "another kind": (
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}',
        'Pod in version "v1" cannot be handled as a ConfigMap',
    ),
    "another version": (
        b'{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}}',
        'ConfigMap in version "v2" cannot be handled as a ConfigMap',
    ),
    "a number where text belongs": (
        b'{"metadata":{"name":"a"},"data":{"a":1}}',
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ),
    "text where a map belongs": (
        b'{"metadata":{"name":"a"},"data":"x"}',
        "json: cannot unmarshal string into Go struct field ConfigMap.data of type map",
    ),
    "a list where metadata belongs": (b'{"metadata":[]}', "json: cannot unmarshal array"),
}


@pytest.mark.parametrize(("body", "said"), UNREADABLE.values(), ids=UNREADABLE)
async def test_a_body_that_is_no_config_map_is_refused(
    api: ApiUnderTest, body: bytes, said: str
) -> None:
    answer = await api.post(CONFIG_MAPS, body, content_type=JSON)
    assert refusal(answer) == (400, "BadRequest")
    assert said in message(answer)
    assert (await api.post(CONFIG_MAPS, a_config_map("next"))).code == 201  # still alive


READABLE = {
    "without kind and apiVersion": (b'{"metadata":{"name":"a"}}', JSON),
    "without a content type": (b'{"metadata":{"name":"a"}}', ""),
    "with a charset": (b'{"metadata":{"name":"a"}}', "application/json; charset=utf-8"),
    "as YAML": (b"kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n", YAML),
    "as YAML that is JSON": (b'{"metadata":{"name":"a"}}', YAML),
    "white space around it": (b' \n{"metadata":{"name":"a"}}\n ', JSON),
}


@pytest.mark.parametrize(("body", "content_type"), READABLE.values(), ids=READABLE)
async def test_a_body_that_is_a_config_map_creates_it(
    api: ApiUnderTest, body: bytes, content_type: str
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    answer = await api.ask("POST", CONFIG_MAPS, body, headers)
    assert answer.code == 201, answer.text
    assert (answer.doc["kind"], answer.doc["apiVersion"]) == ("ConfigMap", "v1")
    assert (await api.get(f"{CONFIG_MAPS}/a")).code == 200


async def test_null_is_an_object_without_a_name(api: ApiUnderTest) -> None:
    answer = await api.post(CONFIG_MAPS, b"null", content_type=JSON)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueRequired", "metadata.name")]
    assert "name or generateName is required" in message(answer)


@pytest.mark.parametrize("absent", ["kind", "apiVersion"])
async def test_a_custom_kind_must_say_what_it_is(api: ApiUnderTest, absent: str) -> None:
    doc = a_snapshot()
    del doc[absent]
    assert refusal(await api.post(SNAPSHOTS, doc)) == (400, "BadRequest")


async def test_a_value_of_the_wrong_type_in_a_custom_kind_is_a_complaint_about_its_field(
    api: ApiUnderTest,
) -> None:
    doc = a_snapshot()
    doc["spec"]["volumeSnapshotClassName"] = 7
    answer = await api.post(SNAPSHOTS, doc)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer)[0] == ("FieldValueTypeInvalid", "spec.volumeSnapshotClassName")


ODD = {
    "a key in the wrong case": (
        '{"metadata":{"name":"a"},"Data":{"x":"1"}}',
        ['unknown field "Data"'],
    ),
    "unknown fields, one warning each": (
        '{"metadata":{"name":"a","colour":"red"},"foo":{"bar":1},"data":{"x":"1"}}',
        ['unknown field "metadata.colour"', 'unknown field "foo"'],
    ),
    "the same key twice": (
        '{"metadata":{"name":"a"},"data":{"a":"1","a":"2"}}',
        ['duplicate field "data.a"'],
    ),
    "an unknown key and one that comes twice": (
        '{"metadata":{"name":"a"},"foo":1,"data":{"a":"1","a":"2"}}',
        ['unknown field "foo"', 'duplicate field "data.a"'],
    ),
}


@pytest.mark.parametrize("mode", ["", "Warn"])
@pytest.mark.parametrize(("body", "findings"), ODD.values(), ids=ODD)
async def test_odd_fields_are_warned_about(
    api: ApiUnderTest, body: str, findings: list[str], mode: str
) -> None:
    answer = await api.post(f"{CONFIG_MAPS}?fieldValidation={mode}", body.encode())
    assert answer.code == 201, answer.text
    assert sorted(answer.warnings) == sorted(findings)


async def test_odd_fields_are_told_of_even_when_the_object_is_refused(api: ApiUnderTest) -> None:
    odd = {"metadata": {"name": "Bad_Name"}, "odd": 1}
    created = await api.post(CONFIG_MAPS, odd)
    assert (created.code, created.warnings) == (422, ['unknown field "odd"'])
    updated = await api.put(f"{CONFIG_MAPS}/x", {"metadata": {"name": "x"}, "odd": 1})
    assert (updated.code, updated.warnings) == (404, ['unknown field "odd"'])
    await api.post(CONFIG_MAPS, {"metadata": {"name": "x"}})
    patched = await api.patch(f"{CONFIG_MAPS}/x", {"odd": 1, "metadata": {"labels": {"a": "b c"}}})
    assert (patched.code, patched.warnings) == (422, ['unknown field "odd"'])


@pytest.mark.parametrize(("body", "findings"), ODD.values(), ids=ODD)
async def test_strictly_odd_fields_are_refused(
    api: ApiUnderTest, body: str, findings: list[str]
) -> None:
    answer = await api.post(f"{CONFIG_MAPS}?fieldValidation=Strict", body.encode())
    assert refusal(answer) == (400, "BadRequest")
    assert "strict decoding error: " in message(answer)
    assert all(finding in message(answer) for finding in findings)
    assert (await api.get(f"{CONFIG_MAPS}/a")).code == 404


@pytest.mark.parametrize(("body", "findings"), ODD.values(), ids=ODD)
async def test_odd_fields_may_be_ignored(api: ApiUnderTest, body: str, findings: list[str]) -> None:
    answer = await api.post(f"{CONFIG_MAPS}?fieldValidation=Ignore", body.encode())
    assert (answer.code, answer.warnings) == (201, [])


async def test_unknown_fields_are_dropped_and_of_equal_keys_the_last_wins(
    api: ApiUnderTest,
) -> None:
    body = b'{"metadata":{"name":"a"},"foo":1,"Data":{"z":"1"},"data":{"a":"1","a":"2"}}'
    stored = (await api.post(CONFIG_MAPS, body)).doc
    assert stored.keys() == {"kind", "apiVersion", "metadata", "data"}
    assert stored["data"] == {"a": "2"}


async def test_null_is_absent_and_in_a_map_of_text_empty(api: ApiUnderTest) -> None:
    body = b'{"metadata":{"name":"a","labels":null},"binaryData":null,"data":{"a":null}}'
    stored = (await api.post(CONFIG_MAPS, body)).doc
    assert stored["data"] == {"a": ""}
    assert "binaryData" not in stored
    assert "labels" not in stored["metadata"]


async def test_numbers_are_accepted_as_quantities_and_told_as_text(api: ApiUnderTest) -> None:
    answer = await api.post(CLAIMS, a_claim(storage=10_000_000_000))
    assert answer.doc["spec"]["resources"]["requests"] == {"storage": "10G"}


async def test_a_body_over_the_limit_is_refused(api: ApiUnderTest) -> None:
    """The connection stops reading at the limit; what is left to do here is to say so."""
    request = Request("POST", CONFIG_MAPS, "", _as_admin(api), b"", too_large=True)
    answer = await api.parts.api.handle(request)
    assert isinstance(answer, Response)
    assert isinstance(answer.body, bytes)
    status = json.loads(answer.body)
    assert (answer.status, status["reason"]) == (413, "RequestEntityTooLarge")
    assert "limit is 3145728" in status["message"]


def _as_admin(api: ApiUnderTest) -> dict[str, str]:
    return {"authorization": f"Bearer {api.token}", "content-type": JSON}


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "application/cbor"])
async def test_other_media_types_are_refused(api: ApiUnderTest, media: str) -> None:
    answer = await api.post(CONFIG_MAPS, b"{}", content_type=media)
    assert refusal(answer) == (415, "UnsupportedMediaType")
    for accepted in (JSON, YAML, PROTOBUF):
        assert accepted in message(answer)


NAME_A = b"\x0a\x03\x0a\x01a"  # metadata { name: "a" }


def _envelope(kind: str, raw: bytes) -> bytes:
    named = b"\x0a\x02v1" + b"\x12" + bytes([len(kind)]) + kind.encode()
    inner = b"\x0a" + bytes([len(named)]) + named + b"\x12" + bytes([len(raw)]) + raw
    return b"k8s\x00" + inner + b"\x1a\x00\x22\x00"


async def test_protobuf_is_read_and_answered_in_json(api: ApiUnderTest) -> None:
    body = _envelope("ConfigMap", NAME_A + b"\x12\x06\x0a\x01k\x12\x01v")
    answer = await api.post(CONFIG_MAPS, body, content_type=PROTOBUF)
    assert (answer.code, answer.content_type) == (201, JSON)
    assert answer.doc["data"] == {"k": "v"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"k8s",
        b"k9s\x00" + _envelope("ConfigMap", NAME_A)[4:],
        _envelope("ConfigMap", b"\x0a\x7f\x0a"),
        _envelope("ConfigMap", b"\xff\xff\xff"),
        _envelope("Pod", NAME_A),
        b'{"metadata":{"name":"a"}}',
    ],
    ids=["nothing", "half a prefix", "no prefix", "cut short", "no fields", "a pod", "JSON"],
)
async def test_broken_protobuf_is_refused(api: ApiUnderTest, body: bytes) -> None:
    answer = await api.post(CONFIG_MAPS, body, content_type=PROTOBUF)
    assert refusal(answer) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("class_name", "stored"), [(b"\x2a\x00", ""), (b"", None)], ids=["empty", "absent"]
)
async def test_an_empty_class_name_in_protobuf_is_kept_apart_from_none(
    api: ApiUnderTest, class_name: bytes, stored: str | None
) -> None:
    modes = b"\x0a\x0dReadWriteOnce"
    request = b"\x0a\x07storage\x12\x05\x0a\x031Gi"
    resources = b"\x12" + bytes([len(request) + 2]) + b"\x12" + bytes([len(request)]) + request
    spec = modes + resources + class_name
    raw = NAME_A + b"\x12" + bytes([len(spec)]) + spec
    answer = await api.post(CLAIMS, _envelope("PersistentVolumeClaim", raw), content_type=PROTOBUF)
    assert answer.code == 201, answer.text
    assert answer.doc["spec"].get("storageClassName") == stored


async def test_an_answer_nobody_can_give_is_refused(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    answer = await api.get(f"{CONFIG_MAPS}/x", accept="text/html")
    assert refusal(answer) == (406, "NotAcceptable")


@pytest.mark.parametrize("accept", ["text/html,*/*;q=0.1", "*/*", "application/*", JSON])
async def test_json_is_what_wildcards_get(api: ApiUnderTest, accept: str) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    answer = await api.get(f"{CONFIG_MAPS}/x", accept=accept)
    assert (answer.code, answer.content_type) == (200, JSON)
    assert answer.doc["kind"] == "ConfigMap"
