"""What holds for every stored kind: defaults, reading, changing, deleting, tables."""

from tests.conformance.asking import (
    JSON,
    TABLE,
    Again,
    Case,
    Cases,
    apply,
    delete,
    get,
    merge,
    post,
    put,
)
from tests.conformance.cases.objects import SMALLEST, changed, named

PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def _life(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = named(path, smallest)
    return (
        post(path, smallest),
        get(one),
        put(one, Again(0, {"metadata": {"labels": {"a": "b"}}})),
        merge(one, {"metadata": {"annotations": {"c": "d"}, "labels": {"a": None}}}),
        put(one, Again(0, {"metadata": {"labels": {"a": "c"}}})),
        get(f"{path}?fieldSelector=metadata.name={smallest['metadata']['name']}"),
        delete(one),
        delete(one),
        get(one),
    )


def _unchanged(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = named(path, smallest)
    return (post(path, smallest), put(one, Again(0)), merge(one, {}), put(one, Again(0)))


def _views(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = named(path, smallest)
    only = f"{path}?fieldSelector=metadata.name={smallest['metadata']['name']}"
    return (
        post(path, smallest),
        get(one, TABLE),
        get(only, TABLE),
        get(f"{only}&includeObject=Object", TABLE),
        get(f"{one}?includeObject=None", TABLE),
        get(one, PARTIAL),
        get(only, f"{PARTIAL.replace('Metadata;', 'MetadataList;')},{JSON}"),
    )


def _applied(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = named(path, smallest)
    labelled = changed(smallest, {"metadata": {"labels": {"a": "b"}}})
    return (
        apply(one, "first", smallest),
        apply(one, "second", labelled),
        apply(one, "first", changed(smallest, {"metadata": {"labels": {"a": "c"}}})),
        apply(one, "first", changed(smallest, {"metadata": {"labels": {"a": "c"}}}), force=True),
        apply(one, "second", smallest),
        get(one),
    )


def _bodies(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = named(path, smallest)
    bare = {key: value for key, value in smallest.items() if key not in ("kind", "apiVersion")}
    return (
        post(f"{path}?dryRun=All", smallest),
        post(path, {**smallest, "kind": "Odd"}),
        post(path, {**smallest, "apiVersion": "odd.example/v1"}),
        post(path, {**smallest, "extra": 1, "metadata": {**smallest["metadata"], "odd": True}}),
        post(f"{path}?fieldValidation=Strict", {**smallest, "extra": 1}),
        post(path, {**smallest, "metadata": {"name": "Not_Good"}}),
        post(path, {**smallest, "metadata": {}}),
        post(path, bare),
        post(path, smallest),
        put(f"{path}/other", smallest),
        put(one, {**bare, "metadata": {}}),
        get(f"{path}/none"),
        put(f"{path}/none", {**bare, "metadata": {"name": "none"}}),
        merge(f"{path}/none2", {}),
        delete(f"{path}/none3"),
    )


def _drawn(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    return (post(path, {**smallest, "metadata": {"generateName": "$name-"}}),)


def _versions(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = named(path, smallest)
    label = {"metadata": {"labels": {"a": "b"}}}
    older = {"preconditions": {"resourceVersion": "${0.metadata.resourceVersion}"}}
    return (
        post(path, smallest),
        merge(one, label),
        put(one, Again(0, label)),
        put(one, Again(1, {"metadata": {"resourceVersion": None, "labels": {"a": "c"}}})),
        put(one, Again(1, {"metadata": {"resourceVersion": "0", "labels": {"a": "d"}}})),
        put(one, Again(1, {"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}})),
        post(path, Again(1)),
        *(() if kind == "namespace" else (delete(one, older),)),  # theirs has its own words
    )


def _status(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = f"{named(path, smallest)}/status"
    return (
        post(path, smallest),
        get(one),
        put(one, Again(0, {"metadata": {"labels": {"a": "b"}}})),
        merge(one, {"metadata": {"annotations": {"c": "d"}}}),
        apply(one, "m", smallest),
        get(f"{path}/none/status"),
        merge(f"{path}/none/status", {}),
        post(one, smallest),
        delete(one),
    )


def _together(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    doc = changed(smallest, {"metadata": {"labels": {"set": "$name"}, "finalizers": ["a.b/c"]}})
    chosen = f"{path}?labelSelector=set=$name"
    return (
        post(path, doc),
        get(chosen),
        delete(chosen),
        merge(named(path, doc), {"metadata": {"finalizers": None}}),
        delete(f"{path}?labelSelector=set=none-such"),
    )


def _watched(kind: str) -> Case:
    path, smallest = SMALLEST[kind]
    one = named(path, smallest)
    name = smallest["metadata"]["name"]
    held = changed(smallest, {"metadata": {"finalizers": ["a.b/c"]}})
    watch = (
        f"{path}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name={name}"
        "&resourceVersion=${0.metadata.resourceVersion}"
    )
    return (
        post(path, held),
        merge(one, {"metadata": {"labels": {"a": "b"}}}),
        delete(one),
        merge(one, {"metadata": {"finalizers": ["a.b/c"], "labels": {"a": "c"}}}),
        get(watch),
        get(watch, TABLE),
    )


CASES: Cases = {
    **{f"{kind}: its life, its defaults": _life(kind) for kind in SMALLEST},
    **{f"{kind}: written again unchanged": _unchanged(kind) for kind in SMALLEST},
    **{f"{kind}: its table, its metadata alone": _views(kind) for kind in SMALLEST},
    **{f"{kind}: applied by two managers": _applied(kind) for kind in SMALLEST},
    **{f"{kind}: versions and uids": _versions(kind) for kind in SMALLEST},
    **{f"{kind}: its status": _status(kind) for kind in SMALLEST},
    **{f"{kind}: deleted together": _together(kind) for kind in SMALLEST},
    **{
        f"{kind}: watched": _watched(kind)
        for kind in SMALLEST
        if kind != "namespace"  # which ours empties meanwhile, and tells of it
    },
    **{f"{kind}: a name that is drawn": _drawn(kind) for kind in SMALLEST},
    **{f"{kind}: bodies and names": _bodies(kind) for kind in SMALLEST},
}
