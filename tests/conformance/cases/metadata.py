"""Names, labels, annotations, finalizers, owners, generations: what every object has."""

from tests.conformance.asking import Again, Cases, Doc, get, merge, post, put
from tests.conformance.cases.objects import (
    CONFIG_MAP,
    CONFIG_MAPS,
    VOLUME,
    VOLUMES,
    changed,
    creates,
    named,
    updates,
)

ONE = named(CONFIG_MAPS, CONFIG_MAP)


def _metadata(**fields: object) -> Doc:
    return {"metadata": fields}


_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}

_CREATED: dict[str, Doc] = {
    "with a name of 253 characters": _metadata(name="a" * 253),
    "with a name of 254 characters": _metadata(name="a" * 254),
    "with a name that goes up": _metadata(name="../etc"),
    "with a name of dots": _metadata(name="a..b"),
    "with an empty name": _metadata(name=""),
    "with a name and a prefix": _metadata(generateName="other-"),
    "with a bad prefix": _metadata(name=None, generateName="Bad_"),
    "with a long prefix": _metadata(name=None, generateName="p" * 80),
    "in another namespace": _metadata(namespace="other"),
    "in its own namespace, said": _metadata(namespace="$name"),
    "with a version": _metadata(resourceVersion="5"),
    "with what the server decides": _metadata(
        uid="11111111-2222-3333-4444-555555555555",
        creationTimestamp="2001-01-01T00:00:00Z",
        deletionTimestamp="2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds=5,
        generation=7,
        selfLink="/x",
    ),
    "with a negative generation": _metadata(generation=-1),
    "with labels": _metadata(labels={"a": "b", "example.com/c": ""}),
    "with a label without a name": _metadata(labels={"": "b"}),
    "with a bad label": _metadata(labels={"a b": "c"}),
    "with a bad prefix of a label": _metadata(labels={"Bad_/a": "c"}),
    "with two prefixes of a label": _metadata(labels={"a/b/c": "d"}),
    "with a long label": _metadata(labels={"a" * 64: "c"}),
    "with a bad value of a label": _metadata(labels={"a": "-b"}),
    "with a long value of a label": _metadata(labels={"a": "b" * 64}),
    "with a number as a label": _metadata(labels={"a": 5}),
    "with annotations": _metadata(annotations={"a": "anything at all\n", "B/c": "d"}),
    "with a bad annotation": _metadata(annotations={"a b": "c"}),
    "with large annotations": _metadata(annotations={"a": "b" * 262144}),
    "with finalizers": _metadata(finalizers=["example.com/one", "example.com/one"]),
    "with a bad finalizer": _metadata(finalizers=["one"]),
    "with a worse finalizer": _metadata(finalizers=["a b/c"]),
    "with finalizers of the collector": _metadata(finalizers=["orphan", "foregroundDeletion"]),
    "with an owner": _metadata(ownerReferences=[_OWNER]),
    "with half an owner": _metadata(ownerReferences=[{"kind": "ConfigMap"}]),
    "with an owner of a bad version": _metadata(
        ownerReferences=[{**_OWNER, "apiVersion": "a/b/c"}]
    ),
    "with an event as owner": _metadata(ownerReferences=[{**_OWNER, "kind": "Event"}]),
    "with an owner twice": _metadata(ownerReferences=[_OWNER, _OWNER]),
    "with two controllers": _metadata(
        ownerReferences=[{**_OWNER, "controller": True}, {**_OWNER, "uid": "v", "controller": True}]
    ),
    "with managed fields": _metadata(
        managedFields=[
            {
                "manager": "m",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2001-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {"f:key": {}}},
            }
        ]
    ),
    "with a time that is none": _metadata(creationTimestamp="soon"),
    "with labels that are a list": _metadata(labels=["a"]),
}
_UPDATED: dict[str, Doc] = {
    "to another uid": _metadata(uid="11111111-2222-3333-4444-555555555555"),
    "to another time of creation": _metadata(creationTimestamp="2001-01-01T00:00:00Z"),
    "without a uid": _metadata(uid=None),
    "without a version": _metadata(resourceVersion=None),
    "of version 0": _metadata(resourceVersion="0"),
    "of a version that is none": _metadata(resourceVersion="abc"),
    "of an old version": _metadata(resourceVersion="1"),
    "to another generation": _metadata(generation=5),
    "to be deleted": _metadata(deletionTimestamp="2001-01-01T00:00:00Z"),
    "to another prefix": _metadata(generateName="x-"),
    "to another namespace": _metadata(namespace="other"),
    "without a namespace": _metadata(namespace=None),
    "to bad labels": _metadata(labels={"a b": "c"}),
    "without managed fields": _metadata(managedFields=None),
    "to no managed fields": _metadata(managedFields=[{}]),
    "to empty managed fields": _metadata(managedFields=[]),
    "to bad managed fields": _metadata(managedFields=[{"operation": "Odd"}]),
    "with a finalizer": _metadata(finalizers=["example.com/one"]),
    "with an owner": _metadata(ownerReferences=[_OWNER]),
}

CASES: Cases = {
    **creates("config map", _CREATED),
    **updates("config map", {}, _UPDATED),
    "volume is of no namespace, whatever it says": (
        post(VOLUMES, changed(VOLUME, _metadata(namespace="other"))),
        merge(named(VOLUMES, VOLUME), _metadata(namespace="other")),
    ),
    "patched metadata": (
        post(CONFIG_MAPS, CONFIG_MAP),
        merge(ONE, _metadata(name="other")),
        merge(ONE, _metadata(namespace="other")),
        merge(ONE, _metadata(uid="11111111-2222-3333-4444-555555555555")),
        merge(ONE, _metadata(resourceVersion="1")),
        merge(ONE, _metadata(resourceVersion="abc")),
        merge(ONE, _metadata(creationTimestamp=None)),
        merge(ONE, _metadata(labels={"a": "b"})),
        merge(ONE, _metadata(labels=None)),
        merge(ONE, _metadata(managedFields=None)),
        merge(ONE, {"metadata": None}),
        get(ONE),
    ),
    "fields change hands when another manager writes them": (
        post(f"{CONFIG_MAPS}?fieldManager=one", changed(CONFIG_MAP, {"data": {"b": "c"}})),
        put(f"{ONE}?fieldManager=two", Again(0, {"data": {"key": "other"}})),
        merge(f"{ONE}?fieldManager=three", {"data": {"b": None, "d": "e"}}),
        merge(f"{ONE}?fieldManager=one", {"data": None}),
    ),
    "a dozen managers are more than are remembered": (
        post(f"{CONFIG_MAPS}?fieldManager=m00", CONFIG_MAP),
        # Those of one second stand in the order of their names, which is that of their times too.
        *(merge(f"{ONE}?fieldManager=m{i:02}", {"data": {f"k{i}": "v"}}) for i in range(1, 13)),
    ),
    "a client without a name is called unknown": (
        post(CONFIG_MAPS, CONFIG_MAP, User_Agent=""),
        post(CONFIG_MAPS, changed(CONFIG_MAP, _metadata(name="b")), User_Agent="a b/1.0 (c) d/2"),
    ),
}
