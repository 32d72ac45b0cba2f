"""Where objects are in etcd, and how: as kube-apiserver keeps them."""

import json

import pytest

from mooring.apiserver.documents.document import to_put
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.store.etcd.layout import UnreadableValue
from mooring.errors import StoreError
from mooring.stack.etcd import layout_of

LAYOUT = layout_of(builtin(), "/registry")

KEYS = {
    ("pods", "ns/a"): "/registry/pods/ns/a",
    ("nodes", "a"): "/registry/minions/a",
    ("services", "ns/a"): "/registry/services/specs/ns/a",
    ("endpoints", "ns/a"): "/registry/services/endpoints/ns/a",
    ("replicationcontrollers", "ns/a"): "/registry/controllers/ns/a",
    ("storage.k8s.io/storageclasses", "a"): "/registry/storageclasses/a",
    ("coordination.k8s.io/leases", "ns/a"): "/registry/leases/ns/a",
    ("rbac.authorization.k8s.io/roles", "ns/system:a"): "/registry/roles/ns/system:a",
    (
        "apiextensions.k8s.io/customresourcedefinitions",
        "boats.harbor.example.com",
    ): "/registry/apiextensions.k8s.io/customresourcedefinitions/boats.harbor.example.com",
    (
        "snapshot.storage.k8s.io/volumesnapshots",
        "ns/a",
    ): "/registry/snapshot.storage.k8s.io/volumesnapshots/ns/a",
    ("harbor.example.com/boats", "ns/a"): "/registry/harbor.example.com/boats/ns/a",
}


@pytest.mark.parametrize(("place", "key"), KEYS.items(), ids=KEYS.values())
def test_a_place_and_its_key(place: tuple[str, str], key: str) -> None:
    assert LAYOUT.key(*place).decode() == key
    assert LAYOUT.find_place(key.encode()) == place


def test_every_kind_has_a_place_of_its_own() -> None:
    tables = [kind.store_table for kind in builtin().stored()]
    keys = {LAYOUT.key(table, "ns/a") for table in tables}
    assert len(keys) == len(tables)
    for table in tables:
        assert LAYOUT.find_place(LAYOUT.key(table, "ns/a")) == (table, "ns/a")


@pytest.mark.parametrize(
    "key",
    [
        b"/registry/masterleases/10.0.0.1",
        b"/registry/ranges/serviceips",
        b"/registry/pods",
        b"/registry/pods/",
        b"/registry/harbor.example.com/boats",
        b"/registry/services/other/ns/a",
        b"/registry/\xff/a",
    ],
)
def test_keys_of_somebody_else_are_left_alone(key: bytes) -> None:
    assert LAYOUT.find_place(key) is None


DOCUMENTS = {
    "a pod": {"metadata": {"name": "a", "labels": {"x": "ü"}}, "spec": {"nodeName": "n"}},
    "no metadata but the version": {"metadata": {}, "spec": {}},
    "metadata alone": {"metadata": {"name": "a"}},
    "braces in a name": {"metadata": {"name": '"}{"metadata":{'}, "data": {"kind": "x"}},
}


@pytest.mark.parametrize("doc", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_comes_back_as_it_was_stored(doc: dict[str, object]) -> None:
    put = to_put(dict(doc))
    value = LAYOUT.value("pods", put, 0xDEADBEEF)
    stored = json.loads(value)
    assert stored == {"kind": "Pod", "apiVersion": "v1", **doc}
    entry = LAYOUT.entry("pods", "ns/a", value, 42)
    assert (entry.value, entry.revision) == (put.stamp(42), 42)
    assert LAYOUT.restamped(entry, 1007).value == put.stamp(1007)


def test_two_writes_of_the_same_are_told_apart_and_read_the_same() -> None:
    put = to_put({"metadata": {"name": "a"}})
    values = [LAYOUT.value("pods", put, mark) for mark in (0, 1, 2**32 - 1)]
    assert len(set(values)) == 3
    assert len({LAYOUT.entry("pods", "ns/a", value, 5).value for value in values}) == 1


def test_json_of_others_is_read_too() -> None:
    value = b"""{"apiVersion": "v1", "data": {"a": "b"}, "kind": "ConfigMap",
        "metadata": {"name": "a", "resourceVersion": "3"}}\n"""
    entry = LAYOUT.entry("configmaps", "ns/a", value, 7)
    assert entry.value == b'{"metadata":{"resourceVersion":"7","name":"a"},"data":{"a":"b"}}'


REFUSED = {
    b"k8s\0\n\x0f": "is protobuf: .*--storage-media-type=application/json",
    b"k8s:enc:aescbc:v1:key:": "is encrypted",
    b"not json": "no object in JSON",
    b"[]": "no object in JSON",
    b'{"kind":"Pod"}': "no object in JSON",
    b'{"metadata":"x"}': "no object in JSON",
    b'{"metadata":[]}': "no object in JSON",
    b'{"metadata":' + b"[" * 100_000: "no object in JSON",
    b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":': "no object in JSON",
}


@pytest.mark.parametrize(
    ("value", "told"), REFUSED.items(), ids=[repr(value[:70]) for value in REFUSED]
)
def test_what_cannot_be_read_is_named(value: bytes, told: str) -> None:
    with pytest.raises(UnreadableValue, match=rf"/registry/pods/ns/a in etcd .*{told}"):
        LAYOUT.entry("pods", "ns/a", value, 7)


def test_nothing_is_stored_that_no_kind_serves() -> None:
    with pytest.raises(StoreError, match="no kind is stored in harbor"):
        LAYOUT.value("harbor.example.com/boats", to_put({"metadata": {}}), 0)


def test_only_events_end_by_themselves() -> None:
    assert LAYOUT.seconds_to_live("events") == 3600
    assert LAYOUT.seconds_to_live("pods") == 0
