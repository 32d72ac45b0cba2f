"""What a write did to a document: the walk of creates, and the comparison of updates."""

import json
from typing import Any

import pytest
from hypothesis import given

from mooring.apiserver.patching.changes import Changes, compare, created
from mooring.apiserver.patching.field_set import FieldSet, ordered, union
from mooring.apiserver.patching.shape import shape_of
from mooring.apiserver.schema.parse import load
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import SCHEMA, THING, a_thing, things


def _created(doc: Doc) -> FieldSet:
    return created(doc, shape_of(THING, SCHEMA), "")


def _compared(old: Doc, new: Doc, subresource: str = "") -> Changes:
    return compare(old, new, shape_of(THING, SCHEMA), subresource)


CREATED: dict[str, tuple[Doc, FieldSet]] = {
    "a map is new, and so are its entries": (
        a_thing(data={"b": "1", "a": "1"}),
        {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
    ),
    "a message that may be absent is new": (
        a_thing(spec={"disk": {"path": "/"}}),
        {"f:spec": {"f:disk": {".": {}, "f:path": {}}}},
    ),
    "a message that always exists is not": (
        a_thing(spec={"limits": {"most": {"a": "1"}}}),
        {"f:spec": {"f:limits": {"f:most": {".": {}, "f:a": {}}}}},
    ),
    "a required list always exists": (
        a_thing(spec={"parts": [{"name": "x"}]}),
        {"f:spec": {"f:parts": {'k:{"name":"x"}': {".": {}, "f:name": {}}}}},
    ),
    "another list does not": (
        a_thing(metadata={"finalizers": ["a"]}),
        {"f:metadata": {"f:finalizers": {".": {}, 'v:"a"': {}}}},
    ),
    "within a new item all is new": (
        a_thing(spec={"parts": [{"name": "x", "ports": [{"port": 80, "protocol": "TCP"}]}]}),
        {
            "f:spec": {
                "f:parts": {
                    'k:{"name":"x"}': {
                        ".": {},
                        "f:name": {},
                        "f:ports": {
                            ".": {},
                            'k:{"port":80,"protocol":"TCP"}': {
                                ".": {},
                                "f:port": {},
                                "f:protocol": {},
                            },
                        },
                    }
                }
            }
        },
    ),
    "an empty map is a leaf": (a_thing(data={}), {"f:data": {}}),
    "an empty message that always exists is nothing": (a_thing(spec={}), {}),
    "status is not written by a create": (a_thing(status={"phase": "x"}), {}),
    "an unknown field is a leaf": (a_thing(extra={"a": 1}), {"f:extra": {}}),
    "an item that stands there twice is one": (
        a_thing(metadata={"finalizers": ["a", "a"]}),
        {"f:metadata": {"f:finalizers": {".": {}, 'v:"a"': {}}}},
    ),
    "messages within themselves are walked": (
        a_thing(spec={"parts": [{"name": "x", "inner": {"name": "y"}}]}),
        {
            "f:spec": {
                "f:parts": {
                    'k:{"name":"x"}': {".": {}, "f:inner": {".": {}, "f:name": {}}, "f:name": {}}
                }
            }
        },
    ),
}


@pytest.mark.parametrize(("doc", "then"), CREATED.values(), ids=CREATED)
def test_created(doc: Doc, then: FieldSet) -> None:
    result = _created(doc)
    assert result == then
    assert json.dumps(result) == json.dumps(ordered(then)), "in the order of print"


@given(doc=things())
def test_a_create_is_a_change_from_nothing(doc: Doc) -> None:
    written, removed = _compared({}, doc)
    assert json.dumps(_created(doc)) == json.dumps(ordered(written))
    assert not removed


@given(doc=things())
def test_a_document_does_not_differ_from_itself(doc: Doc) -> None:
    assert _compared(doc, doc) == ({}, {})


@given(old=things(), new=things())
def test_the_way_back_touches_what_the_way_there_touched(old: Doc, new: Doc) -> None:
    there, back = _compared(old, new), _compared(new, old)
    assert ordered(union(*there)) == ordered(union(*back))


_TWICE = [{"name": "x"}, {"name": "x", "color": "red"}]
_X: FieldSet = {'k:{"name":"x"}': {}}
_BELOW_X: FieldSet = {'k:{"name":"x"}': {"f:name": {}}}
_ALL_X: FieldSet = {'k:{"name":"x"}': {".": {}, "f:name": {}}}

COMPARED: dict[str, tuple[Doc, Doc, FieldSet, FieldSet]] = {
    "a changed value is written": (
        a_thing(data={"a": "1", "b": "1"}),
        a_thing(data={"a": "2", "b": "1"}),
        {"f:data": {"f:a": {}}},
        {},
    ),
    "a removed map is removed with its entries": (
        a_thing(data={"a": "1"}),
        a_thing(),
        {},
        {"f:data": {".": {}, "f:a": {}}},
    ),
    "an emptied map stays": (
        a_thing(data={"a": "1"}),
        a_thing(data={}),
        {},
        {"f:data": {"f:a": {}}},
    ),
    "a message that always exists stays": (
        a_thing(spec={"limits": {"least": 1}}),
        a_thing(),
        {},
        {"f:spec": {"f:limits": {"f:least": {}}}},
    ),
    "a changed atomic list is written": (
        a_thing(spec={"modes": ["a"]}),
        a_thing(spec={"modes": ["a", "b"]}),
        {"f:spec": {"f:modes": {}}},
        {},
    ),
    "items in another order are no change": (
        a_thing(metadata={"finalizers": ["a", "b"]}),
        a_thing(metadata={"finalizers": ["b", "a"]}),
        {},
        {},
    ),
    "an item changes within": (
        a_thing(spec={"parts": [{"name": "x", "color": "red"}]}),
        a_thing(spec={"parts": [{"name": "x", "color": "blue"}]}),
        {"f:spec": {"f:parts": {'k:{"name":"x"}': {"f:color": {}}}}},
        {},
    ),
    "an item comes to stand there twice": (
        a_thing(spec={"parts": [{"name": "x"}]}),
        a_thing(spec={"parts": _TWICE}),
        {"f:spec": {"f:parts": _X}},
        {"f:spec": {"f:parts": _BELOW_X}},
    ),
    "an item stands there twice no more": (
        a_thing(spec={"parts": _TWICE}),
        a_thing(spec={"parts": [{"name": "x"}]}),
        {"f:spec": {"f:parts": _ALL_X}},
        {},
    ),
    "an item that stood there twice is gone": (
        a_thing(spec={"parts": _TWICE}),
        a_thing(spec={"parts": []}),
        {},
        {"f:spec": {"f:parts": _X}},
    ),
    "items that stand there twice change as one": (
        a_thing(spec={"parts": _TWICE}),
        a_thing(spec={"parts": [*_TWICE, {"name": "x"}]}),
        {"f:spec": {"f:parts": _X}},
        {},
    ),
    "a value of another type is written": (
        a_thing(data={"a": "1"}),
        a_thing(data="x"),
        {"f:data": {}},
        {},
    ),
    "identity changes for nobody": (
        a_thing(metadata={"uid": "u"}),
        a_thing(metadata={"uid": "v", "managedFields": [{}]}),
        {},
        {},
    ),
    "status changes elsewhere": (
        a_thing(status={"phase": "x"}),
        a_thing(status={"phase": "y"}),
        {},
        {},
    ),
}


@pytest.mark.parametrize(("old", "new", "written", "removed"), COMPARED.values(), ids=COMPARED)
def test_compared(old: Doc, new: Doc, written: FieldSet, removed: FieldSet) -> None:
    assert _compared(old, new) == (written, removed)


def test_a_write_to_status_owns_status_and_not_spec() -> None:
    new = a_thing(spec={"size": 2}, status={"phase": "y"})
    assert _compared(a_thing(), new, "status") == ({"f:status": {"f:phase": {}}}, {})


def test_a_volume_is_owned_as_clients_know_it() -> None:
    volume: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": "v",
            "labels": {"a": "1"},
            "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"name": "c", "namespace": "n"},
            "csi": {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": "s"}},
            "nodeAffinity": {"required": {"nodeSelectorTerms": []}},
        },
        "status": {"phase": "Pending"},
    }
    assert created(volume, shape_of("core.v1.PersistentVolume", load()), "") == {
        "f:metadata": {
            "f:finalizers": {".": {}, 'v:"kubernetes.io/pv-protection"': {}},
            "f:labels": {".": {}, "f:a": {}},
        },
        "f:spec": {
            "f:accessModes": {},
            "f:capacity": {".": {}, "f:storage": {}},
            "f:claimRef": {".": {}, "f:name": {}, "f:namespace": {}},
            "f:csi": {
                ".": {},
                "f:driver": {},
                "f:nodeStageSecretRef": {},
                "f:volumeHandle": {},
            },
            "f:nodeAffinity": {".": {}, "f:required": {}},
        },
    }
