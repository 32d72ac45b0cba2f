"""DELETE: options, preconditions, finalizers, grace, collections."""

from tests.conformance.asking import (
    PROTOBUF,
    Again,
    Cases,
    Doc,
    Step,
    delete,
    get,
    merge,
    post,
    put,
)
from tests.conformance.cases.objects import (
    CLAIM,
    CLAIMS,
    CONFIG_MAP,
    CONFIG_MAPS,
    POD,
    PODS,
    SECRET,
    SECRETS,
    changed,
    named,
)

ONE = named(CONFIG_MAPS, CONFIG_MAP)
OTHER_UID = "11111111-2222-3333-4444-555555555555"

_BODIES: dict[str, object] = {
    "nothing": None,
    "an empty object": {},
    "usual options": {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Background",
    },
    "options of meta.k8s.io": {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
    "options of another kind": {"kind": "Odd", "apiVersion": "v1"},
    "broken JSON": "{bad",
    "a list": "[]",
    "no policy at all": {"propagationPolicy": None},
    "an unknown policy": {"propagationPolicy": "Weird"},
    "both ways to orphan": {"propagationPolicy": "Orphan", "orphanDependents": True},
    "a negative grace": {"gracePeriodSeconds": -5},
    "a grace": {"gracePeriodSeconds": 5},
    "a dry run": {"dryRun": ["All"]},
    "a dry run of some": {"dryRun": ["Some"]},
    "another uid": {"preconditions": {"uid": OTHER_UID}},
    "another version": {"preconditions": {"resourceVersion": "1"}},
    "its own uid and version": {
        "preconditions": {
            "uid": "${0.metadata.uid}",
            "resourceVersion": "${0.metadata.resourceVersion}",
        }
    },
    "unknown options": {"odd": 1},
    "the background": {"propagationPolicy": "Background"},
    "no orphans": {"orphanDependents": False},
}
_COLLECTED: dict[str, object] = {
    "the foreground": {"propagationPolicy": "Foreground"},
    "orphans": {"propagationPolicy": "Orphan"},
    "orphans, the old way": {"orphanDependents": True},
}
_QUERIES: dict[str, str] = {
    "a policy": "propagationPolicy=Background",
    "an unknown policy": "propagationPolicy=Weird",
    "a grace": "gracePeriodSeconds=5",
    "a grace that is none": "gracePeriodSeconds=abc",
    "a dry run": "dryRun=All",
}
HELD = changed(CONFIG_MAP, {"metadata": {"finalizers": ["example.com/hold"]}})
SCHEDULED = changed(POD, {"spec": {"nodeName": "n1"}})
POD_ONE = named(PODS, POD)


def _many(*names: str) -> tuple[Step, ...]:
    def doc(name: str) -> Doc:
        return changed(SECRET, {"metadata": {"name": name, "labels": {"n": name}}})

    return tuple(post(SECRETS, doc(name)) for name in names)


CASES: Cases = {
    **{
        f"deleted with {words}": (post(CONFIG_MAPS, CONFIG_MAP), delete(ONE, body), get(ONE))
        for words, body in _BODIES.items()
    },
    **{  # what follows is the work of a collector, which theirs runs elsewhere
        f"deleted with {words}": (post(CONFIG_MAPS, CONFIG_MAP), delete(ONE, body))
        for words, body in _COLLECTED.items()
    },
    **{
        f"deleted with {words} in the query": (
            post(CONFIG_MAPS, CONFIG_MAP),
            delete(f"{ONE}?{query}"),
            get(ONE),
        )
        for words, query in _QUERIES.items()
    },
    "deleted with options in protobuf": (
        post(CONFIG_MAPS, CONFIG_MAP),
        delete(ONE, b"k8s\x00\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x02\x08\x00", PROTOBUF),
    ),
    "deleted with options as text": (
        post(CONFIG_MAPS, CONFIG_MAP),
        delete(ONE, "{}", "text/plain"),
    ),
    "a finalizer holds what is deleted": (
        post(CONFIG_MAPS, HELD),
        delete(ONE),
        delete(ONE),
        post(CONFIG_MAPS, CONFIG_MAP),
        put(ONE, Again(1, {"data": {"key": "later"}})),
        merge(ONE, {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}),
        merge(ONE, {"metadata": {"deletionTimestamp": None}}),
        merge(ONE, {"metadata": {"finalizers": None}}),
        get(ONE),
    ),
    "a finalizer holds what is deleted as a trial": (
        post(CONFIG_MAPS, HELD),
        delete(f"{ONE}?dryRun=All"),
        get(ONE),
    ),
    "a protected claim is deleted when its finalizer goes": (
        post(CLAIMS, CLAIM),
        delete(named(CLAIMS, CLAIM)),
        post(CLAIMS, CLAIM),
        merge(named(CLAIMS, CLAIM), {"metadata": {"finalizers": None}}),
        get(named(CLAIMS, CLAIM)),
    ),
    "the grace of a pod on a node": (
        post(PODS, SCHEDULED),
        delete(POD_ONE),
        delete(POD_ONE, {"gracePeriodSeconds": 60}),
        delete(POD_ONE, {"gracePeriodSeconds": 10}),
        get(POD_ONE, "application/json;as=Table;v=v1;g=meta.k8s.io"),
        delete(POD_ONE, {"gracePeriodSeconds": 0}),
        get(POD_ONE),
    ),
    "the grace of a pod that a finalizer holds": (
        post(PODS, changed(SCHEDULED, {"metadata": {"finalizers": ["example.com/hold"]}})),
        delete(POD_ONE),
        delete(POD_ONE, {"gracePeriodSeconds": 0}),
        delete(POD_ONE, {"gracePeriodSeconds": 0}),
        merge(POD_ONE, {"metadata": {"finalizers": None}}),
        get(POD_ONE),
    ),
    "no grace for a pod that is over": (
        post(PODS, SCHEDULED),
        merge(f"{POD_ONE}/status", {"status": {"phase": "Succeeded"}}),
        delete(POD_ONE),
        get(POD_ONE),
    ),
    "a pod on a node deleted at once": (
        post(PODS, SCHEDULED),
        delete(POD_ONE, {"gracePeriodSeconds": 0}),
        get(POD_ONE),
    ),
    "a pod deleted as a trial": (
        post(PODS, SCHEDULED),
        delete(f"{POD_ONE}?dryRun=All"),
        get(POD_ONE),
    ),
    "a pod evicted": (
        post(PODS, SCHEDULED),
        post(
            f"{POD_ONE}/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "$name"}},
        ),
        get(POD_ONE),
    ),
    "all of a collection": (*_many("a", "b"), delete(SECRETS), get(SECRETS)),
    "some of a collection": (
        *_many("a", "b", "c"),
        delete(f"{SECRETS}?labelSelector=n!=b"),
        get(f"{SECRETS}?labelSelector=n"),
        delete(f"{SECRETS}?fieldSelector=metadata.name=odd"),
        delete(f"{SECRETS}?labelSelector=a b"),
        delete(f"{SECRETS}?fieldSelector=odd=x"),
    ),
    "all of a collection as a trial": (
        *_many("a"),
        delete(f"{SECRETS}?dryRun=All&labelSelector=n"),
        get(f"{SECRETS}/a"),
    ),
    "a collection of what a finalizer holds": (
        post(
            SECRETS,
            changed(SECRET, {"metadata": {"labels": {"n": "x"}, "finalizers": ["a.b/hold"]}}),
        ),
        delete(f"{SECRETS}?labelSelector=n"),
        get(named(SECRETS, SECRET)),
    ),
    "a collection with options": (
        *_many("a"),
        delete(f"{SECRETS}?labelSelector=n", {"propagationPolicy": "Weird"}),
        delete(f"{SECRETS}?labelSelector=n", {"propagationPolicy": "Orphan"}),
    ),
    "everything in all namespaces is not deleted together": (delete("/api/v1/secrets"),),
}
