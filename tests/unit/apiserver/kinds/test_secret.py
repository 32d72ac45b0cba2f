from base64 import b64encode

import pytest

from mooring.apiserver.kinds.secret import SECRET
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, created, merged, printed, update

S: Doc = {
    "kind": "Secret",
    "apiVersion": "v1",
    "metadata": {"name": "s", "namespace": "default", "creationTimestamp": BEFORE},
}
MIB = 1024 * 1024


def b64(text: str) -> str:
    return b64encode(text.encode()).decode()


DEFAULTS: dict[str, tuple[Doc, Doc]] = {
    "a secret is opaque unless it says what it is for": ({}, {"type": "Opaque"}),
    "an empty type is none": ({"type": ""}, {"type": "Opaque"}),
    "plain text moves into data": (
        {"stringData": {"a": "héllo"}},
        {"type": "Opaque", "data": {"a": b64("héllo")}},
    ),
    "and wins over what is there": (
        {"data": {"a": b64("old"), "b": b64("kept")}, "stringData": {"a": "new"}},
        {"type": "Opaque", "data": {"a": b64("new"), "b": b64("kept")}},
    ),
    "none of it leaves no trace": ({"stringData": {}}, {"type": "Opaque"}),
}


@pytest.mark.parametrize(("given", "then"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults(given: Doc, then: Doc) -> None:
    assert created(SECRET, {**S, **given}) == {**S, **then}


RULES: dict[str, tuple[Doc, list[str]]] = {
    "an empty secret is fine": ({}, []),
    "one MiB of data is fine": ({"data": {"a": b64("x" * MIB)}}, []),
    "a byte more is not": (
        {"data": {"a": b64("x" * MIB), "b": b64("x")}},
        ["data: Too long: may not be more than 1048576 bytes"],
    ),
    "a key may not climb": (
        {"data": {"..": ""}},
        ["data[..]: Invalid value: \"..\": must not be '..'"],
    ),
    "a certificate comes with its key": (
        {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}},
        ["data[tls.key]: Required value"],
    ),
    "a certificate and its key, even if empty": (
        {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}},
        [],
    ),
    "a registry's config is there": (
        {"type": "kubernetes.io/dockerconfigjson"},
        ["data[.dockerconfigjson]: Required value"],
    ),
    "and is an object in JSON": (
        {
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": b64('{"auths":{}}')},
        },
        [],
    ),
    "and shows nothing of itself when it is not": (
        {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": b64("hunter2")}},
        [
            'data[.dockercfg]: Invalid value: "<secret contents redacted>": '
            "invalid character 'h' looking for beginning of value"
        ],
    ),
    "a list is no object": (
        {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": b64("[]")}},
        ['data[.dockercfg]: Invalid value: "<secret contents redacted>": must hold a JSON object'],
    ),
    "an ssh key is not empty": (
        {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}},
        ["data[ssh-privatekey]: Required value"],
    ),
    "a login has a name or a password": (
        {"type": "kubernetes.io/basic-auth", "data": {"other": ""}},
        ["data[username]: Required value", "data[password]: Required value"],
    ),
    "one of the two is enough": (
        {"type": "kubernetes.io/basic-auth", "data": {"password": ""}},
        [],
    ),
    "an account's token names the account": (
        {"type": "kubernetes.io/service-account-token"},
        ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ),
    "and needs nothing else": (
        {
            "type": "kubernetes.io/service-account-token",
            "metadata": {"annotations": {"kubernetes.io/service-account.name": "default"}},
        },
        [],
    ),
    "a type of one's own is not looked into": ({"type": "example.com/mine"}, []),
}


@pytest.mark.parametrize(("given", "complaints"), RULES.values(), ids=RULES)
def test_rules(given: Doc, complaints: list[str]) -> None:
    assert create(SECRET, merged(S, given)) == complaints


FROZEN = "field is immutable when `immutable` is set"
CHANGES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "data may change": ({"data": {"a": "YQ=="}}, {"data": {"a": "Yg=="}}, []),
    "the type may not": (
        {"type": "Opaque"},
        {"type": "example.com/mine"},
        ['type: Invalid value: "example.com/mine": field is immutable'],
    ),
    "an immutable one keeps its data": (
        {"immutable": True, "data": {"a": "YQ=="}},
        {"data": {"a": "Yg=="}},
        [f"data: Forbidden: {FROZEN}"],
    ),
    "also against plain text": (
        {"immutable": True},
        {"stringData": {"a": "b"}},
        [f"data: Forbidden: {FROZEN}"],
    ),
    "and stays immutable": (
        {"immutable": True},
        {"immutable": False},
        [f"immutable: Forbidden: {FROZEN}"],
    ),
    "its labels may change": ({"immutable": True}, {"metadata": {"labels": {"a": "b"}}}, []),
}


@pytest.mark.parametrize(("given", "patch", "complaints"), CHANGES.values(), ids=CHANGES)
def test_changes(given: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(SECRET, created(SECRET, {**S, **given}), patch) == complaints


def test_columns_and_fields() -> None:
    doc = created(SECRET, {**S, "data": {"a": "", "b": ""}})
    assert printed(SECRET, doc) == {"Name": "s", "Type": "Opaque", "Data": 2, "Age": "27h"}
    assert SECRET.fields["type"](doc) == "Opaque"
