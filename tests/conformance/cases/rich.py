"""Objects with nearly every field there is: kept, owned and read the same in every form."""

from tests.conformance.asking import (
    PROTOBUF,
    Again,
    Binary,
    Case,
    Cases,
    Doc,
    apply,
    delete,
    get,
    merge,
    post,
    put,
    strategic,
)
from tests.conformance.cases.objects import SMALLEST, changed, named
from tests.conformance.cases.rich_objects import METADATA, RICH


def _rich(kind: str) -> tuple[str, str, Doc]:
    """The collection, the object's path and the object."""
    path, smallest = SMALLEST[kind]
    doc = changed(smallest, RICH[kind][1])
    metadata = {**METADATA, "ownerReferences": None}
    return path, named(path, doc), changed(doc, {"metadata": metadata})


def _written(kind: str) -> Case:
    path, one, doc = _rich(kind)
    return (
        post(path, doc),
        get(one),
        put(one, Again(0, {"metadata": {"labels": {"g": "h"}, "finalizers": None}})),
        merge(one, {"metadata": {"labels": None, "annotations": {"e": "x"}}}),
        strategic(one, {"metadata": {"finalizers": ["example.com/three"], "labels": {"a": "b"}}}),
        strategic(
            one, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/three"]}}
        ),
        delete(one),
    )


def _applied(kind: str) -> Case:
    path, one, doc = _rich(kind)
    _, smallest = SMALLEST[kind]
    return (
        apply(one, "one", doc),
        apply(one, "two", smallest),
        apply(one, "two", doc),
        apply(one, "one", smallest, force=True),
        get(f"{path}?fieldSelector=metadata.name={doc['metadata']['name']}"),
    )


def _applied_over(kind: str) -> Case:
    path, one, doc = _rich(kind)
    return (post(path, doc), apply(one, "one", doc), merge(one, {}), apply(one, "one", doc))


def _binary(kind: str) -> Case:
    path, one, doc = _rich(kind)
    return (post(path, Binary(doc, RICH[kind][0]), PROTOBUF), get(one))


CASES: Cases = {
    **{f"rich {kind} written": _written(kind) for kind in RICH},
    **{f"rich {kind} applied": _applied(kind) for kind in RICH},
    **{f"rich {kind} applied over": _applied_over(kind) for kind in RICH},
    **{f"rich {kind} as protobuf": _binary(kind) for kind in RICH},
    "owners, all of them": (
        post(SMALLEST["lease"][0], changed(SMALLEST["lease"][1], {"metadata": METADATA})),
    ),
}
