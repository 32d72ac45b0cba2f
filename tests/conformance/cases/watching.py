"""WATCH: which events come, in which order, in which form."""

from tests.conformance.asking import Cases, Doc, delete, get, merge, post, put
from tests.conformance.cases.objects import (
    CLAIM,
    CLAIMS,
    LEASE,
    LEASES,
    POD,
    PODS,
    changed,
    named,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
ONE = named(LEASES, LEASE)
SINCE = "watch=true&timeoutSeconds=1&resourceVersion=${0.metadata.resourceVersion}"


def _labelled(name: str) -> Doc:
    return changed(LEASE, {"metadata": {"name": name, "labels": {"n": name}}})


_STORY = (
    post(LEASES, _labelled("first")),
    post(LEASES, LEASE),
    merge(ONE, {"metadata": {"labels": {"n": "yes"}}}),
    merge(ONE, {"spec": {"holderIdentity": "you"}}),
    merge(ONE, {"metadata": {"labels": {"n": "no"}}}),
    merge(ONE, {}),
    delete(ONE),
    post(LEASES, LEASE),
)
_REFUSED: dict[str, str] = {
    "a version that is none": "resourceVersion=abc",
    "a match": "resourceVersionMatch=NotOlderThan",
    "initial events without a match": "sendInitialEvents=true",
    "initial events of an exact match": "sendInitialEvents=true&resourceVersionMatch=Exact",
    "a bad selector": "labelSelector=a b",
    "an unknown field": "fieldSelector=odd=x",
}

CASES: Cases = {
    "changes since a version": (*_STORY, get(f"{LEASES}?{SINCE}")),
    "changes since a version, of one object": (
        *_STORY,
        get(f"{LEASES}?{SINCE}&fieldSelector=metadata.name=$name"),
    ),
    "changes since a version, of what a label selects": (
        *_STORY,
        get(f"{LEASES}?{SINCE}&labelSelector=n=yes"),
        get(f"{LEASES}?{SINCE}&labelSelector=n!=yes"),
    ),
    "changes since a version, as tables": (*_STORY, get(f"{LEASES}?{SINCE}", TABLE)),
    "changes since a version, as metadata alone": (*_STORY, get(f"{LEASES}?{SINCE}", PARTIAL)),
    "changes since a version, by the old path": (
        *_STORY,
        get(
            LEASES.replace("/v1/", "/v1/watch/")
            + "?timeoutSeconds=1&resourceVersion=${0.metadata.resourceVersion}"
        ),
    ),
    "everything there is, then changes": (
        *_STORY[:3],
        get(f"{LEASES}?watch=true&timeoutSeconds=1"),
        get(f"{LEASES}?watch=1&timeoutSeconds=1&resourceVersion=0"),
    ),
    "everything there is, as a stream that says when it was all": (
        *_STORY[:3],
        get(
            f"{LEASES}?watch=true&timeoutSeconds=1&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        ),
        get(
            f"{LEASES}?watch=true&timeoutSeconds=1&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
            "&labelSelector=n=yes&resourceVersion=${1.metadata.resourceVersion}"
        ),
    ),
    "nothing but what comes": (
        *_STORY[:3],
        get(
            f"{LEASES}?watch=true&timeoutSeconds=1&sendInitialEvents=false"
            "&resourceVersionMatch=NotOlderThan"
        ),
    ),
    "a watch that is none": (
        *_STORY[:2],
        get(f"{LEASES}?watch=false", view=None),
        get(f"{LEASES}?watch=0"),
    ),
    "a claim that goes in steps": (
        post(CLAIMS, CLAIM),
        delete(named(CLAIMS, CLAIM)),
        merge(named(CLAIMS, CLAIM), {"metadata": {"finalizers": None}}),
        get(f"{CLAIMS}?{SINCE}"),
    ),
    "a pod that goes with a grace": (
        post(PODS, changed(POD, {"spec": {"nodeName": "n1"}})),
        put(f"{named(PODS, POD)}/status", changed(POD, {"status": {"phase": "Running"}})),
        delete(named(PODS, POD)),
        delete(named(PODS, POD), {"gracePeriodSeconds": 0}),
        get(f"{PODS}?{SINCE}"),
        get(f"{PODS}?{SINCE}&fieldSelector=status.phase=Running"),
    ),
    "a pod that goes at once": (
        post(PODS, POD),
        delete(named(PODS, POD)),
        get(f"{PODS}?{SINCE}"),
    ),
    **{
        f"a watch with {words}": (get(f"{LEASES}?watch=true&timeoutSeconds=1&{query}"),)
        for words, query in _REFUSED.items()
    },
    "a watch with a time-out that is none": (get(f"{LEASES}?watch=true&timeoutSeconds=abc"),),
}
