from base64 import b64encode

import pytest

from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, created, merged, printed, update

C: Doc = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "c", "namespace": "default", "creationTimestamp": BEFORE},
}
MIB = 1024 * 1024
TOO_LONG = "[]: Too long: may not be more than 1048576 bytes"

RULES: dict[str, tuple[Doc, list[str]]] = {
    "an empty one is fine": ({}, []),
    "one MiB is fine": ({"data": {"a": "x" * MIB}}, []),
    "a byte more is not, and no field is to blame": ({"data": {"a": "x" * (MIB + 1)}}, [TOO_LONG]),
    "text and bytes count together": (
        {"data": {"a": "x" * MIB}, "binaryData": {"b": b64encode(b"x").decode()}},
        [TOO_LONG],
    ),
    "text counts in bytes": ({"data": {"a": "é" * (MIB // 2 + 1)}}, [TOO_LONG]),
    "a key is in one of the two": (
        {"data": {"a": ""}, "binaryData": {"a": ""}},
        ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ),
    "a key of text may not climb": (
        {"data": {"..a": ""}},
        ["data[..a]: Invalid value: \"..a\": must not start with '..'"],
    ),
    "a key of bytes may not climb": (
        {"binaryData": {".": ""}},
        ["binaryData[.]: Invalid value: \".\": must not be '.'"],
    ),
}


@pytest.mark.parametrize(("given", "complaints"), RULES.values(), ids=RULES)
def test_rules(given: Doc, complaints: list[str]) -> None:
    assert create(CONFIG_MAP, {**C, **given}) == complaints


FROZEN = "Forbidden: field is immutable when `immutable` is set"
CHANGES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "data may change": ({"data": {"a": "1"}}, {"data": {"a": "2"}}, []),
    "it may become immutable and change at once": ({}, {"immutable": True, "data": {"a": "2"}}, []),
    "then text stays": (
        {"immutable": True, "data": {"a": "1"}},
        {"data": {"a": "2"}},
        [f"data: {FROZEN}"],
    ),
    "then bytes stay": (
        {"immutable": True, "binaryData": {"a": "YQ=="}},
        {"binaryData": None},
        [f"binaryData: {FROZEN}"],
    ),
    "then it stays so": (
        {"immutable": True},
        {"immutable": None},
        [f"immutable: {FROZEN}"],
    ),
    "no data and empty data are the same": ({"immutable": True}, {"data": {}}, []),
}


@pytest.mark.parametrize(("given", "patch", "complaints"), CHANGES.values(), ids=CHANGES)
def test_changes(given: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(CONFIG_MAP, created(CONFIG_MAP, merged(C, given)), patch) == complaints


def test_columns() -> None:
    doc = {**C, "data": {"a": "", "b": ""}, "binaryData": {"c": ""}}
    assert printed(CONFIG_MAP, doc) == {"Name": "c", "Data": 3, "Age": "27h"}
