"""From bytes to a document of a kind: media types, identity, findings, refusals."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.codec.body import Decoded, decode_document, decode_options
from mooring.apiserver.codec.media import JSON, PROTOBUF, YAML
from mooring.apiserver.codec.protobuf_encode import encode
from mooring.errors import ApiError, BadRequest, Invalid, UnsupportedMedia
from tests.unit.apiserver.schema.documents import ON_PROTOBUF, documents

Doc = dict[str, Any]


def config_map(body: bytes, content_type: str | None = None) -> Decoded:
    return decode_document(
        body,
        content_type,
        "core.v1.ConfigMap",
        kind="ConfigMap",
        api_version="v1",
        custom=False,
    )


def snapshot(body: bytes, content_type: str | None = None) -> Decoded:
    return decode_document(
        body,
        content_type,
        "snapshot.v1.VolumeSnapshot",
        kind="VolumeSnapshot",
        api_version="snapshot.storage.k8s.io/v1",
        custom=True,
    )


FULL: Doc = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}

SAME = {
    "no content type is JSON": (b'{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"b"}}', None),
    "JSON with parameters": (
        b'{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"b"}}',
        "application/json; charset=utf-8",
    ),
    "kind and apiVersion come from the URL": (b'{"data":{"a":"b"}}', JSON),
    "a null kind is none": (b'{"kind":null,"data":{"a":"b"}}', JSON),
    "an empty kind is none": (b'{"kind":"","data":{"a":"b"}}', JSON),
    "one of the two is enough": (b'{"kind":"ConfigMap","data":{"a":"b"}}', JSON),
    "YAML": (b"data:\n  a: b\n", YAML),
    "JSON called YAML": (b'{"data":{"a":"b"}}', YAML),
    "protobuf": (encode(FULL, "core.v1.ConfigMap"), PROTOBUF),
    "protobuf without a kind": (encode({"data": {"a": "b"}}, "core.v1.ConfigMap"), PROTOBUF),
}


@pytest.mark.parametrize(("body", "content_type"), SAME.values(), ids=SAME)
def test_the_same_document(body: bytes, content_type: str | None) -> None:
    decoded = config_map(body, content_type)
    assert decoded == Decoded(FULL)
    assert next(iter(decoded.doc)) in ("apiVersion", "kind")


@pytest.mark.parametrize("content_type", [JSON, YAML])
def test_null_is_an_empty_object(content_type: str) -> None:
    assert config_map(b"null", content_type).doc == {"apiVersion": "v1", "kind": "ConfigMap"}


FINDINGS = {
    "unknown fields, in document order": (
        b'{"z":1,"metadata":{"foo":1},"a":{"b":1}}',
        ('unknown field "z"', 'unknown field "metadata.foo"', 'unknown field "a"'),
    ),
    "a key that comes twice in a map": (
        b'{"data":{"a":"1","a":"2"}}',
        ('duplicate field "data.a"',),
    ),
    "both sorts, in document order": (
        b'{"data":{"a":"1","a":"2"},"foo":1,"metadata":{"name":"x","bar":1,"name":"y"}}',
        (
            'duplicate field "data.a"',
            'unknown field "foo"',
            'unknown field "metadata.bar"',
            'duplicate field "metadata.name"',
        ),
    ),
    "an unknown field that comes twice is only unknown": (
        b'{"foo":{"a":1,"a":2},"foo":2,"data":{"a":"b"},"data":{"a":"b"}}',
        ('unknown field "foo"', 'duplicate field "data"'),
    ),
    "in an item of a list": (
        b'{"metadata":{"ownerReferences":[{},{"name":"a","name":"b","x":1}]}}',
        (
            'duplicate field "metadata.ownerReferences[1].name"',
            'unknown field "metadata.ownerReferences[1].x"',
        ),
    ),
}


@pytest.mark.parametrize(("body", "findings"), FINDINGS.values(), ids=FINDINGS)
def test_findings(body: bytes, findings: tuple[str, ...]) -> None:
    assert config_map(body).findings == findings
    assert config_map(body, YAML).findings == findings  # every JSON body is YAML as well


def test_findings_in_yaml_proper() -> None:
    decoded = config_map(b"data: {a: b}\nfoo: 1\ndata: {a: c, a: d}\n", YAML)
    assert decoded.doc["data"] == {"a": "d"}
    assert decoded.findings == (
        'unknown field "foo"',
        'duplicate field "data"',
        'duplicate field "data.a"',
    )


def test_of_two_equal_keys_the_last_wins() -> None:
    assert config_map(b'{"data":{"a":"1","a":"2"}}').doc["data"] == {"a": "2"}


def test_findings_are_bounded() -> None:
    body = json.dumps({f"a{i}": 1 for i in range(1000)}).encode()
    findings = config_map(body).findings
    assert findings[:2] == ('unknown field "a0"', 'unknown field "a1"')
    assert len(findings) == 100


UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
PARSE = f"{UNRECOGNIZED}couldn't get version/kind; json parse error: "
SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'

REFUSED = {
    "an empty body": (b"", JSON, f"{PARSE}unexpected end of JSON input (<empty>)"),
    "half a body": (b'{"a":', JSON, f'{PARSE}unexpected end of JSON input ({{"a":)'),
    "something behind": (
        b"{}x",
        JSON,
        f"{PARSE}invalid character 'x' after top-level value ({{}}x)",
    ),
    "a list": (
        b"[]",
        JSON,
        f"{PARSE}json: cannot unmarshal array into Go value of type struct {{ "
        'APIVersion string "json:\\"apiVersion,omitempty\\""; '
        'Kind string "json:\\"kind,omitempty\\"" } (5b5d)',
    ),
    "a long body is shown by its beginning": (
        b'{"data":{"a":"0123456789"},"b":',
        JSON,
        f'{PARSE}unexpected end of JSON input ({{"data":{{"a":"0123456789"}},"b" ...)',
    ),
    "a bomb": (
        b'{"a":' * 100_000,
        JSON,
        PARSE + "exceeded max depth (" + '{"a":' * 6 + " ...)",
    ),
    "a kind that is a number": (
        b'{"kind":5}',
        JSON,
        f"{PARSE}json: cannot unmarshal number into Go struct field .kind of type string "
        '({"kind":5})',
    ),
    "an apiVersion with too many parts": (
        b'{"apiVersion":"a/b/c"}',
        JSON,
        f'{UNRECOGNIZED}unexpected GroupVersion string: a/b/c ({{"apiVersion":"a/b/c"}})',
    ),
    "another kind": (
        b'{"kind":"Pod","apiVersion":"v1"}',
        JSON,
        'Pod in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Pod) to (core.ConfigMap): unknown conversion",
    ),
    "a kind that does not exist": (
        b'{"kind":"Foo"}',
        JSON,
        'Foo in version "v1" cannot be handled as a ConfigMap: '
        f'no kind "Foo" is registered for version "v1" {SCHEME}',
    ),
    "a version that does not exist": (
        b'{"apiVersion":"x.k8s.io/v2"}',
        JSON,
        'ConfigMap in version "v2" cannot be handled as a ConfigMap: '
        f'no kind "ConfigMap" is registered for version "x.k8s.io/v2" {SCHEME}',
    ),
    "a value of the wrong type": (
        b'{"data":{"a":5}}',
        JSON,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ),
    "a value of the wrong type in YAML": (
        b"data: {a: yes}",
        YAML,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        "json: cannot unmarshal bool into Go struct field ConfigMap.data of type string",
    ),
    "no YAML": (
        b"a: b: c",
        YAML,
        f"{UNRECOGNIZED}yaml: mapping values are not allowed in this context (613a20623a2063)",
    ),
    "no protobuf": (
        b"{}",
        PROTOBUF,
        f"{UNRECOGNIZED}provided data does not appear to be a protobuf message, "
        "expected prefix [107 56 115 0] ({})",
    ),
    "protobuf of another kind": (
        encode({"apiVersion": "v1", "kind": "Secret"}, "core.v1.Secret"),
        PROTOBUF,
        'Secret in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
    ),
    "protobuf whose object is broken": (
        b"k8s\x00\x12\x01\x0a",
        PROTOBUF,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
    ),
}


@pytest.mark.parametrize(("body", "content_type", "text"), REFUSED.values(), ids=REFUSED)
def test_refusal(body: bytes, content_type: str, text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        config_map(body, content_type)
    assert caught.value.message == text


def test_other_media_types_are_not_supported() -> None:
    with pytest.raises(UnsupportedMedia) as caught:
        config_map(b"{}", "text/plain")
    assert caught.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


GROUP = "snapshot.storage.k8s.io/v1"


def test_custom_kinds_are_read() -> None:
    body = b'{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","spec":{}}'
    assert snapshot(body) == Decoded(
        {"apiVersion": GROUP, "kind": "VolumeSnapshot", "spec": {}},
    )


def test_custom_kinds_have_no_protobuf() -> None:
    with pytest.raises(UnsupportedMedia) as caught:
        snapshot(b"k8s\x00", PROTOBUF)
    assert caught.value.message.endswith("include: application/json, application/yaml")


CUSTOM_REFUSED = {
    "no kind": (
        b'{"apiVersion":"snapshot.storage.k8s.io/v1"}',
        "the object provided is unrecognized (must be of type VolumeSnapshot): "
        "Object 'Kind' is missing in '{\"apiVersion\":\"snapshot.storage.k8s.io/v1\"}' "
        '({"apiVersion":"snapshot.storag ...)',
    ),
    "no apiVersion": (
        b'{"kind":"VolumeSnapshot"}',
        "the API version in the data () does not match the expected API version "
        "(snapshot.storage.k8s.io/v1)",
    ),
    "another apiVersion": (
        b'{"kind":"VolumeSnapshot","apiVersion":"v1"}',
        "the API version in the data (v1) does not match the expected API version "
        "(snapshot.storage.k8s.io/v1)",
    ),
}


@pytest.mark.parametrize(("body", "text"), CUSTOM_REFUSED.values(), ids=CUSTOM_REFUSED)
def test_custom_kinds_must_say_what_they_are(body: bytes, text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        snapshot(body)
    assert caught.value.message == text


def test_a_wrong_type_in_a_custom_kind_is_invalid() -> None:
    doc = {
        "apiVersion": GROUP,
        "kind": "VolumeSnapshot",
        "metadata": {"name": "s"},
        "spec": {"source": {"persistentVolumeClaimName": 5}},
    }
    with pytest.raises(Invalid) as caught:
        snapshot(json.dumps(doc).encode())
    path = "spec.source.persistentVolumeClaimName"
    text = f'Invalid value: "integer": {path} in body must be of type string: "integer"'
    assert caught.value.message == (
        f'VolumeSnapshot.snapshot.storage.k8s.io "s" is invalid: {path}: {text}'
    )
    assert caught.value.details["causes"] == [
        {"reason": "FieldValueTypeInvalid", "message": text, "field": path}
    ]


OPTIONS: dict[str, tuple[bytes, str | None, Doc]] = {
    "no body": (b"", None, {}),
    "no body, whatever its type": (b"", "text/plain", {}),
    "null": (b"null", JSON, {}),
    "JSON": (
        b'{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}',
        None,
        {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0},
    ),
    "unknown fields are dropped": (b'{"foo":1,"dryRun":["All"]}', JSON, {"dryRun": ["All"]}),
    "YAML": (b"propagationPolicy: Foreground", YAML, {"propagationPolicy": "Foreground"}),
    "protobuf": (
        encode({"kind": "DeleteOptions", "gracePeriodSeconds": 0}, "meta.v1.DeleteOptions"),
        PROTOBUF,
        {"kind": "DeleteOptions", "gracePeriodSeconds": 0},
    ),
}


@pytest.mark.parametrize(("body", "content_type", "doc"), OPTIONS.values(), ids=OPTIONS)
def test_options(body: bytes, content_type: str | None, doc: Doc) -> None:
    assert decode_options(body, content_type) == doc


NO_OPTIONS = {
    "no JSON": (b"{", JSON, "couldn't get version/kind; json parse error: "),
    "a list": (b"[]", JSON, "json: cannot unmarshal array"),
    "another kind": (b'{"kind":"Pod"}', JSON, 'no kind "Pod" is registered'),
    "a wrong type": (b'{"gracePeriodSeconds":"x"}', JSON, "DeleteOptions.gracePeriodSeconds"),
    "no protobuf": (b"x", PROTOBUF, "expected prefix"),
}


@pytest.mark.parametrize(("body", "content_type", "why"), NO_OPTIONS.values(), ids=NO_OPTIONS)
def test_options_that_are_none(body: bytes, content_type: str, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        decode_options(body, content_type)


def test_options_in_other_media_types_are_not_supported() -> None:
    with pytest.raises(UnsupportedMedia):
        decode_options(b"{}", "text/plain")


@settings(deadline=None)  # the machine may be busy
@given(
    st.sampled_from(ON_PROTOBUF).flatmap(lambda kind: st.tuples(st.just(kind), documents(kind))),
)
def test_all_media_types_carry_the_same_document(sample: tuple[str, Doc]) -> None:
    message, doc = sample
    named = {**doc, "apiVersion": "v1", "kind": "Thing"}
    text = json.dumps(named).encode()
    bodies = {JSON: text, YAML: b"\n" + text, PROTOBUF: encode(named, message)}
    for media, body in bodies.items():
        decoded = decode_document(
            body, media, message, kind="Thing", api_version="v1", custom=False
        )
        assert decoded == Decoded(named)


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from([JSON, YAML, PROTOBUF]), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(media: str, body: bytes) -> None:
    with suppress(ApiError):  # anything else would escape
        config_map(body, media)
    with suppress(ApiError):
        decode_options(body, media)
