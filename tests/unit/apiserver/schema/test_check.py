"""Pruning and spelling of documents, and the words for what does not fit."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.schema.check import conform
from mooring.apiserver.schema.wrong_type import WrongType
from tests.unit.apiserver.schema.documents import KINDS, documents

Doc = dict[str, Any]
POD, VOLUME, CONFIG, LEASE = (
    "core.v1.Pod",
    "core.v1.PersistentVolume",
    "core.v1.ConfigMap",
    "coordination.v1.Lease",
)

KEPT: dict[str, tuple[str, Doc, Doc]] = {
    "kind and apiVersion are fields like others": (
        CONFIG,
        {"kind": "ConfigMap", "apiVersion": "v1"},
        {"kind": "ConfigMap", "apiVersion": "v1"},
    ),
    "null is absent": (CONFIG, {"metadata": None, "data": {"a": "b"}}, {"data": {"a": "b"}}),
    "a null in a map of texts is an empty text": (
        CONFIG,
        {"data": {"a": None}},
        {"data": {"a": ""}},
    ),
    "a null in a list is an empty value": (
        POD,
        {"spec": {"containers": [None, {"command": [None]}]}},
        {"spec": {"containers": [{}, {"command": [""]}]}},
    ),
    "what is empty and might as well be absent is dropped": (
        CONFIG,
        {"metadata": {"name": "", "labels": {}, "finalizers": [], "generation": 0}, "data": {}},
        {"metadata": {}},
    ),
    "a false that means nothing is dropped": (
        VOLUME,
        {"spec": {"csi": {"driver": "d", "readOnly": False}}},
        {"spec": {"csi": {"driver": "d"}}},
    ),
    "what is empty and means something stays": (
        "core.v1.PersistentVolumeClaim",
        {"spec": {"storageClassName": "", "selector": {}}},
        {"spec": {"storageClassName": "", "selector": {}}},
    ),
    "what is always told stays": (
        "storage.v1.CSINode",
        {"spec": {"drivers": []}},
        {"spec": {"drivers": []}},
    ),
    "custom kinds keep what came, but for metadata": (
        "snapshot.v1.VolumeSnapshotClass",
        {"metadata": {"labels": {}}, "driver": "", "parameters": {}},
        {"metadata": {}, "driver": "", "parameters": {}},
    ),
    "a quantity gets its one spelling": (
        VOLUME,
        {"spec": {"capacity": {"storage": "1024Mi"}}},
        {"spec": {"capacity": {"storage": "1Gi"}}},
    ),
    "a quantity may be a number": (
        VOLUME,
        {"spec": {"capacity": {"storage": 10000000000}}},
        {"spec": {"capacity": {"storage": "10G"}}},
    ),
    "a null quantity in a resource list is zero": (
        VOLUME,
        {"spec": {"capacity": {"storage": None}}},
        {"spec": {"capacity": {"storage": "0"}}},
    ),
    "resource lists are rounded up to thousandths": (
        VOLUME,
        {"spec": {"capacity": {"storage": "1n"}}},
        {"spec": {"capacity": {"storage": "1m"}}},
    ),
    "a quantity by itself is not rounded": (
        POD,
        {"spec": {"volumes": [{"emptyDir": {"sizeLimit": "1n"}}]}},
        {"spec": {"volumes": [{"emptyDir": {"sizeLimit": "1n"}}]}},
    ),
    "a time gets its one spelling": (
        CONFIG,
        {"metadata": {"creationTimestamp": "2026-01-02T03:04:05.5+00:00"}},
        {"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"}},
    ),
    "the zero time is dropped": (
        CONFIG,
        {"metadata": {"creationTimestamp": "0001-01-01T00:00:00Z"}},
        {"metadata": {}},
    ),
    "a micro time has six digits": (
        LEASE,
        {"spec": {"renewTime": "2026-01-02T03:04:05Z"}},
        {"spec": {"renewTime": "2026-01-02T03:04:05.000000Z"}},
    ),
    "binary data loses its line breaks": (
        "core.v1.Secret",
        {"data": {"a": "YW\nI="}},
        {"data": {"a": "YWI="}},
    ),
    "managed fields are left alone": (
        CONFIG,
        {"metadata": {"managedFields": [{"fieldsV1": {"f:data": None}}]}},
        {"metadata": {"managedFields": [{"fieldsV1": {"f:data": None}}]}},
    ),
    "a port may be a number or a name": (
        POD,
        {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": "web"}}}]}},
        {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": "web"}}}]}},
    ),
    "inline parts have no name of their own": (
        VOLUME,
        {"spec": {"csi": {"driver": "d"}}},
        {"spec": {"csi": {"driver": "d"}}},
    ),
    "extra values are lists of texts": (
        "authentication.v1.TokenReview",
        {"status": {"user": {"extra": {"a": ["b"], "c": None}}}},
        {"status": {"user": {"extra": {"a": ["b"], "c": []}}}},
    ),
}


@pytest.mark.parametrize(("message", "doc", "kept"), KEPT.values(), ids=KEPT)
def test_conform_keeps(message: str, doc: Doc, kept: Doc) -> None:
    assert conform(doc, message) == []
    assert doc == kept


def test_what_is_empty_stays_when_it_is_to_be_owned() -> None:
    doc: Doc = {"metadata": {"labels": {}}, "data": None}
    assert conform(doc, CONFIG, keep_empty=True) == []
    assert doc == {"metadata": {"labels": {}}}


UNKNOWN: dict[str, tuple[str, Doc, list[str]]] = {
    "at the top": (CONFIG, {"foo": 1}, ["foo"]),
    "further down": (VOLUME, {"spec": {"foo": {"bar": 1}}}, ["spec.foo"]),
    "in an item of a list": (
        POD,
        {"spec": {"containers": [{"name": "a"}, {"bar": 1}]}},
        ["spec.containers[1].bar"],
    ),
    "the protobuf name of an inline part": (
        VOLUME,
        {"spec": {"persistentVolumeSource": {}}},
        ["spec.persistentVolumeSource"],
    ),
    "a name in other letters": (CONFIG, {"Data": {}}, ["Data"]),
    "even when null": (CONFIG, {"foo": None}, ["foo"]),
    "in document order": (VOLUME, {"z": 1, "spec": {"y": 1}, "a": 1}, ["z", "spec.y", "a"]),
}


@pytest.mark.parametrize(("message", "doc", "paths"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_fields_are_dropped_and_named(message: str, doc: Doc, paths: list[str]) -> None:
    assert conform(doc, message) == paths
    assert conform(doc, message) == []


def test_paths_begin_where_the_caller_says() -> None:
    assert conform({"foo": 1}, "core.v1.PodSpec", at="spec") == ["spec.foo"]


GO = "json: cannot unmarshal"
WRONG: dict[str, tuple[str, Doc, str]] = {
    "a number in a map of texts": (
        CONFIG,
        {"data": {"a": 5}},
        f"{GO} number into Go struct field ConfigMap.data of type string",
    ),
    "a number for a map": (
        CONFIG,
        {"data": 5},
        f"{GO} number into Go struct field ConfigMap.data of type map[string]string",
    ),
    "a list for a resource list": (
        VOLUME,
        {"spec": {"capacity": []}},
        f"{GO} array into Go struct field PersistentVolumeSpec.spec.capacity of type "
        "v1.ResourceList",
    ),
    "a fraction for an integer": (
        CONFIG,
        {"metadata": {"generation": 1.0}},
        f"{GO} number 1.0 into Go struct field ObjectMeta.metadata.generation of type int64",
    ),
    "an integer that is too large": (
        POD,
        {"spec": {"containers": [{"ports": [{"containerPort": 2**31}]}]}},
        f"{GO} number 2147483648 into Go struct field "
        "ContainerPort.spec.containers.ports.containerPort of type int32",
    ),
    "a truth value for an integer": (
        CONFIG,
        {"metadata": {"generation": True}},
        f"{GO} bool into Go struct field ObjectMeta.metadata.generation of type int64",
    ),
    "a text for a truth value": (
        CONFIG,
        {"immutable": "yes"},
        f"{GO} string into Go struct field ConfigMap.immutable of type bool",
    ),
    "a text for a message": (
        CONFIG,
        {"metadata": "x"},
        f"{GO} string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
    ),
    "an object for a list of messages": (
        CONFIG,
        {"metadata": {"ownerReferences": {}}},
        f"{GO} object into Go struct field ObjectMeta.metadata.ownerReferences of type "
        "[]v1.OwnerReference",
    ),
    "a value in an inline part": (
        VOLUME,
        {"spec": {"csi": {"driver": 5}}},
        f"{GO} number into Go struct field "
        "CSIPersistentVolumeSource.spec.PersistentVolumeSource.csi.driver of type string",
    ),
    "a number for a time": (
        CONFIG,
        {"metadata": {"creationTimestamp": 5}},
        f"{GO} number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
    ),
    "a fraction for a port": (
        POD,
        {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": 1.5}}}]}},
        f"{GO} number 1.5 into Go struct field "
        "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
    ),
    "binary data that is none": (
        "core.v1.Secret",
        {"data": {"a": "!"}},
        "illegal base64 data at input byte 0",
    ),
    "a quantity that is none": (
        VOLUME,
        {"spec": {"capacity": {"storage": True}}},
        r"quantities must match the regular expression "
        r"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "a text where extra values go": (
        "authentication.v1.TokenReview",
        {"status": {"user": {"extra": {"a": "b"}}}},
        f"{GO} string into Go struct field UserInfo.status.user.extra of type []string",
    ),
}


@pytest.mark.parametrize(("message", "doc", "text"), WRONG.values(), ids=WRONG)
def test_wrong_types_are_told_as_go_tells_them(message: str, doc: Doc, text: str) -> None:
    with pytest.raises(WrongType) as caught:
        conform(doc, message)
    assert str(caught.value) == text


OPENAPI: dict[str, tuple[Doc, tuple[str, str, str]]] = {
    "an integer for a text": (
        {"spec": {"source": {"persistentVolumeClaimName": 5}}},
        ("spec.source.persistentVolumeClaimName", "integer", "string"),
    ),
    "a text for an object": ({"spec": "x"}, ("spec", "string", "object")),
    "a number for a truth value": (
        {"status": {"readyToUse": 1.5}},
        ("status.readyToUse", "number", "boolean"),
    ),
    "a truth value for a list": (
        {"metadata": {"finalizers": True}},
        ("metadata.finalizers", "boolean", "array"),
    ),
}


@pytest.mark.parametrize(("doc", "told"), OPENAPI.values(), ids=OPENAPI)
def test_wrong_types_are_told_as_openapi_tells_them(doc: Doc, told: tuple[str, str, str]) -> None:
    with pytest.raises(WrongType) as caught:
        conform(doc, "snapshot.v1.VolumeSnapshot")
    assert (caught.value.path, caught.value.found, caught.value.wanted) == told


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), documents(kind))))
def test_a_document_that_conforms_is_left_alone(sample: tuple[str, Doc]) -> None:
    message, doc = sample
    before = copy.deepcopy(doc)
    assert conform(doc, message) == []
    assert doc == before


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@st.composite
def disturbed(draw: st.DrawFn) -> tuple[str, Doc]:
    """A document in which a few values are replaced by something else."""
    message = draw(st.sampled_from(KINDS))
    doc = draw(documents(message))
    for _ in range(draw(st.integers(1, 2))):
        target: Any = doc
        while isinstance(target, dict) and target:
            key = draw(st.sampled_from(sorted(target)))
            if not isinstance(target[key], dict) or draw(st.booleans()):
                target[draw(st.sampled_from([key, "foo"]))] = draw(_JSON)
                break
            target = target[key]
    return message, doc


@settings(deadline=None)  # the machine may be busy
@given(disturbed())
def test_conforming_twice_changes_nothing(sample: tuple[str, Doc]) -> None:
    message, doc = sample
    try:
        conform(doc, message)
    except WrongType:
        return
    once = copy.deepcopy(doc)
    assert conform(doc, message) == []
    assert doc == once
