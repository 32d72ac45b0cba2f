"""Bodies in protobuf, as typed clients of Kubernetes 1.32 and newer send them: for every kind."""

from typing import Any

import pytest

from mooring.apiserver.codec.protobuf_encode import encode
from mooring.apiserver.kinds.contract import Kind
from tests.fakes.api import Answered, ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    CONFIG_MAPS,
    CUSTOM,
    LEASES,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    STORED,
    VOLUMES,
    a_claim,
    a_config_map,
    a_driver,
    a_lease,
    a_pod,
    a_service_account,
    a_volume,
    an_attachment,
)

Doc = dict[str, Any]

PROTOBUF = {"content-type": "application/vnd.kubernetes.protobuf"}


def message_of(api: ApiUnderTest, doc: Doc) -> str:
    group, _, version = doc["apiVersion"].rpartition("/")
    kind = api.parts.backend.kinds.by_kind(group, version, doc["kind"])
    assert isinstance(kind, Kind)
    return kind.message


async def send(api: ApiUnderTest, method: str, path: str, doc: Doc) -> Answered:
    return await api.ask(method, path, encode(doc, message_of(api, doc)), PROTOBUF)


BUILT_IN = {kind: stored for kind, stored in STORED.items() if kind not in CUSTOM}


@pytest.mark.parametrize("kind", BUILT_IN)
async def test_a_body_in_protobuf_is_what_it_is_in_json(api: ApiUnderTest, kind: str) -> None:
    collection, build = BUILT_IN[kind]
    by_json = await api.post(collection, build())
    assert by_json.code == 201, by_json.text
    other = build()
    other["metadata"]["name"] += "x"
    by_protobuf = await send(api, "POST", collection, other)
    assert by_protobuf.code == 201, by_protobuf.text
    assert by_protobuf.content_type == "application/json"
    assert essence(by_protobuf.doc) == essence(by_json.doc)
    assert by_protobuf.doc["metadata"]["name"] == other["metadata"]["name"]


def essence(doc: Doc) -> Doc:
    """Without what differs between two objects of one make."""
    metadata = {
        key: value
        for key, value in doc["metadata"].items()
        if key not in {"name", "uid", "resourceVersion", "managedFields", "labels"}
    }
    rest = {key: value for key, value in doc.items() if key not in {"metadata", "spec"}}
    spec = doc.get("spec")
    if doc["kind"] == "Pod":  # admission gives the volume of its token a random name
        spec = {k: v for k, v in doc["spec"].items() if k not in {"volumes", "containers"}}
    if doc["kind"] == "Job":  # its selector and its template know its uid
        template = {k: v for k, v in doc["spec"]["template"].items() if k != "metadata"}
        spec = {**doc["spec"], "selector": None, "template": template}
    return {"metadata": metadata, "spec": spec, **rest}


@pytest.mark.parametrize("kind", BUILT_IN)
async def test_what_is_written_back_in_protobuf_changes_nothing(
    api: ApiUnderTest, kind: str
) -> None:
    collection, build = BUILT_IN[kind]
    await api.post(collection, build())
    path = f"{collection}/{build()['metadata']['name']}"
    stored = (await api.get(path)).doc
    unset = {key: value for key, value in stored.items() if value is not None}
    answer = await send(api, "PUT", path, unset)
    assert answer.code == 200, answer.text
    assert answer.doc == stored


async def test_a_status_in_protobuf(api: ApiUnderTest) -> None:
    volume = (await api.post(VOLUMES, a_volume())).doc
    volume["status"] = {"phase": "Bound"}
    answer = await send(api, "PUT", f"{VOLUMES}/disk/status", volume)
    assert answer.code == 200, answer.text
    assert answer.doc["status"]["phase"] == "Bound"


def test_the_dump_of_a_known_body_is_made_of_the_same_parts() -> None:
    """`k8s\\0`, then apiVersion and kind, then the object."""
    body = encode({"apiVersion": "v1", "kind": "ConfigMap"}, "core.v1.ConfigMap")
    assert body.startswith(b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12")


POINTERS: dict[str, tuple[str, Doc, tuple[str, ...], Any]] = {
    "no class, explicitly": (
        CLAIMS,
        a_claim(storageClassName=""),
        ("spec", "storageClassName"),
        "",
    ),
    "a driver that does not attach": (
        STORED["CSIDriver"][0],
        a_driver(attachRequired=False),
        ("spec", "attachRequired"),
        False,
    ),
    "a lease without holder": (
        LEASES,
        a_lease(holder=""),
        ("spec", "holderIdentity"),
        "",
    ),
    "an attachment to a volume": (
        STORED["VolumeAttachment"][0],
        an_attachment(),
        ("spec", "source", "persistentVolumeName"),
        "disk",
    ),
}


@pytest.mark.parametrize(("collection", "doc", "path", "value"), POINTERS.values(), ids=POINTERS)
async def test_what_is_there_and_empty_stays(
    api: ApiUnderTest, collection: str, doc: Doc, path: tuple[str, ...], value: Any
) -> None:
    answer = await send(api, "POST", collection, doc)
    assert answer.code == 201, answer.text
    found: Any = answer.doc
    for key in path:
        found = found[key]
    assert found == value


async def test_empty_strings_that_writers_always_send_count_as_absent(api: ApiUnderTest) -> None:
    claim = a_claim(volumeName="")
    claim["metadata"] |= {"generateName": "", "namespace": "", "uid": "", "resourceVersion": ""}
    claim["status"] = {"phase": ""}
    answer = await send(api, "POST", CLAIMS, claim)
    assert answer.code == 201, answer.text
    assert "volumeName" not in answer.doc["spec"]
    assert answer.doc["status"]["phase"] == "Pending"


BROKEN = {
    "no prefix": b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap",
    "another prefix": b"k9s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap",
    "the prefix alone": b"k8s\x00",
    "nothing": b"",
    "cut short": b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x1d\x0a",
    "a length beyond the end": b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x02\x0a\x7f",
    "a text that is not UTF-8": (
        b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x03\x0a\x01\xff"
    ),
    "JSON by the wrong name": b'{"metadata":{"name":"x"}}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_broken_bodies_are_400(api: ApiUnderTest, body: bytes) -> None:
    answer = await api.ask("POST", CONFIG_MAPS, body, PROTOBUF)
    assert (answer.code, answer.doc["reason"]) == (400, "BadRequest"), answer.text


async def test_the_kind_in_the_envelope_must_fit(api: ApiUnderTest) -> None:
    pod = encode(a_pod() | {"kind": "Pod"}, "core.v1.Pod")
    answer = await api.ask("POST", CONFIG_MAPS, pod, PROTOBUF)
    assert answer.code == 400
    assert 'Pod in version "v1" cannot be handled as a ConfigMap' in answer.doc["message"]


@pytest.mark.parametrize("kind", sorted(CUSTOM))
async def test_custom_kinds_have_no_protobuf(api: ApiUnderTest, kind: str) -> None:
    collection, _ = STORED[kind]
    answer = await api.ask("POST", collection, b"k8s\x00", PROTOBUF)
    assert (answer.code, answer.doc["reason"]) == (415, "UnsupportedMediaType")


async def test_options_of_a_delete_in_protobuf(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_config_map("c"))
    for uid, code in (("wrong", 409), (None, 200)):
        options: Doc = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"}
        if uid:
            options["preconditions"] = {"uid": uid}
        body = encode(options, "meta.v1.DeleteOptions")
        answer = await api.ask("DELETE", f"{CONFIG_MAPS}/c", body, PROTOBUF)
        assert answer.code == code, answer.text


async def test_a_grace_of_zero_is_a_grace(api: ApiUnderTest) -> None:
    await api.post(PODS, a_pod("web", node="n1"))
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    body = encode(options, "meta.v1.DeleteOptions")
    assert (await api.ask("DELETE", f"{PODS}/web", body, PROTOBUF)).code == 200
    assert (await api.get(f"{PODS}/web")).code == 404


async def test_a_token_is_asked_for_in_protobuf(api: ApiUnderTest) -> None:
    await api.post(SERVICE_ACCOUNTS, a_service_account())
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": ["vault"], "expirationSeconds": 700},
    }
    body = encode(request, "authentication.v1.TokenRequest")
    answer = await api.ask("POST", f"{SERVICE_ACCOUNTS}/robot/token", body, PROTOBUF)
    assert answer.code == 201, answer.text
    assert answer.doc["spec"]["audiences"] == ["vault"]
    assert answer.doc["spec"]["expirationSeconds"] == 700


async def test_questions_in_protobuf(api: ApiUnderTest) -> None:
    question = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}},
    }
    answer = await send(
        api, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", question
    )
    assert answer.code == 201, answer.text
    assert answer.doc["status"]["allowed"] is True
    whoami = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await send(api, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", whoami)
    assert answer.code == 201, answer.text
    assert answer.doc["status"]["userInfo"]["username"]


async def test_a_pod_is_bound_in_protobuf(api: ApiUnderTest) -> None:
    await api.post(PODS, a_pod())
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web"},
        "target": {"kind": "Node", "name": "n1"},
    }
    body = encode(binding, "core.v1.Binding")
    assert (await api.ask("POST", f"{PODS}/web/binding", body, PROTOBUF)).code == 201
    assert (await api.get(f"{PODS}/web")).doc["spec"]["nodeName"] == "n1"


async def test_a_namespace_is_finalized_in_protobuf(api: ApiUnderTest) -> None:
    namespace = (await send(api, "POST", NAMESPACES, STORED["Namespace"][1]())).doc
    namespace["spec"] = {}
    answer = await send(api, "PUT", f"{NAMESPACES}/team/finalize", namespace)
    assert answer.code == 200, answer.text
