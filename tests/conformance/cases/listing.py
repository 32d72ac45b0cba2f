"""LIST and GET: pages, selectors, resource versions."""

from tests.conformance.asking import Cases, Step, delete, get, merge, post
from tests.conformance.cases.objects import (
    CONFIG_MAP,
    LEASE,
    LEASES,
    NODE,
    NODES,
    POD,
    PODS,
    SECRET,
    SECRETS,
    SMALLEST,
    VOLUME,
    VOLUMES,
    changed,
    named,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def _leases(*names: str) -> tuple[Step, ...]:
    return tuple(
        post(
            LEASES,
            changed(LEASE, {"metadata": {"name": name, "labels": {"n": name, "set": "$name"}}}),
        )
        for name in names
    )


_LABELS: dict[str, str] = {
    "equal": "n=a",
    "equal, with two signs": "n==a",
    "unequal": "n!=a",
    "in a set": "n in (a,c)",
    "not in a set": "n notin (a,c)",
    "there": "n",
    "absent": "!n",
    "several things": "set,n!=b,!other",
    "greater": "n>5",
    "less than a word": "n<x",
    "equal to nothing": "n=",
    "two words": "a b",
    "an unclosed set": "n in (a",
    "an empty set": "n in ()",
    "a bad key": "-n=a",
    "a bad value": "n=-a",
    "blanks": " n = a , set ",
    "only a comma": ",",
    "a set without a key": "in (a)",
}
_FIELDS: dict[str, str] = {
    "by name": "metadata.name=a",
    "by another name": "metadata.name!=a",
    "by name with two signs": "metadata.name==a",
    "by namespace": "metadata.namespace=$name",
    "by name twice": "metadata.name=a,metadata.name=a",
    "by two names": "metadata.name=a,metadata.name=b",
    "by an unknown field": "spec.foo=x",
    "by no operator": "metadata.name",
    "by an empty name": "metadata.name=",
    "by a set": "metadata.name in (a)",
    "by an escaped comma": "metadata.name=a\\,b",
}
_OPTIONS: dict[str, str] = {
    "a limit of two": "limit=2",
    "a limit of nothing": "limit=0",
    "a negative limit": "limit=-1",
    "a limit that is none": "limit=abc",
    "a limit too long": "limit=99999999999999999999",
    "a bad token": "continue=zzz",
    "a token of base64": "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
    "a token and a version": "continue=zzz&resourceVersion=3",
    "version 0": "resourceVersion=0",
    "a version that is none": "resourceVersion=abc",
    "a negative version": "resourceVersion=-1",
    "an unknown match": "resourceVersionMatch=Odd&resourceVersion=1",
    "a match without a version": "resourceVersionMatch=Exact",
    "an exact match of 0": "resourceVersionMatch=Exact&resourceVersion=0",
    "a match and a token": "resourceVersionMatch=Exact&resourceVersion=1&continue=zzz",
    "not older than 0": "resourceVersionMatch=NotOlderThan&resourceVersion=0",
    "initial events": "sendInitialEvents=true",
    "a time-out of seconds": "timeoutSeconds=5",
    "a time-out that is none": "timeoutSeconds=abc",
    "an unknown include of a table": "includeObject=Odd",
    "bookmarks": "allowWatchBookmarks=true",
    "unknown options": "odd=1",
    "pretty": "pretty=true",
}
_SELECTABLE: dict[str, str] = {
    "pod": "spec.nodeName=,status.phase=Pending,spec.restartPolicy=Always,status.podIP=",
    "node": "spec.unschedulable=false",
    "secret": "type=Opaque",
    "namespace": "status.phase=Active",
    "event": "involvedObject.kind=Pod,type=Normal",
}

CASES: Cases = {
    **{
        f"listed with a label {words}": (
            *_leases("a", "b", "c"),
            get(f"{LEASES}?labelSelector={selector}"),
        )
        for words, selector in _LABELS.items()
    },
    **{
        f"listed {words}": (*_leases("a", "b"), get(f"{LEASES}?fieldSelector={selector}"))
        for words, selector in _FIELDS.items()
    },
    **{
        # The first list is of now, and waits for the cache that version 0 is answered from.
        f"listed with {words}": (*_leases("a", "b", "c"), get(LEASES), get(f"{LEASES}?{query}"))
        for words, query in _OPTIONS.items()
    },
    **{
        f"{kind} selected by its fields": (
            post(SMALLEST[kind][0], SMALLEST[kind][1]),
            get(
                f"{SMALLEST[kind][0]}?fieldSelector="
                f"metadata.name={SMALLEST[kind][1]['metadata']['name']},{selector}"
            ),
        )
        for kind, selector in _SELECTABLE.items()
    },
    **{
        f"{kind} is not selected by any field": (
            get(f"{path}?fieldSelector=spec.odd=x"),
            get(f"{path}?fieldSelector=spec.nodeName=x"),
            get(f"{path}?fieldSelector=status.phase=x&limit=0"),
        )
        for kind, (path, _) in SMALLEST.items()
    },
    "pages of two over five, one created in between": (
        *_leases("a", "b", "c", "d", "e"),
        get(f"{LEASES}?limit=2"),
        *_leases("bb"),
        get(f"{LEASES}?limit=2&continue=${{5.metadata.continue}}"),
        get(f"{LEASES}?limit=2&continue=${{7.metadata.continue}}"),
    ),
    "pages of a table": (
        *_leases("a", "b", "c"),
        get(f"{LEASES}?limit=2", TABLE),
        get(f"{LEASES}?limit=2&continue=${{3.metadata.continue}}", TABLE),
    ),
    "pages of what a selector matches": (
        *_leases("a", "b", "c"),
        get(f"{LEASES}?limit=1&labelSelector=n!=a"),
        get(f"{LEASES}?limit=1&labelSelector=n!=a&continue=${{3.metadata.continue}}"),
    ),
    "a token and a version are too much": (
        *_leases("a", "b"),
        get(f"{LEASES}?limit=1"),
        get(f"{LEASES}?limit=1&continue=${{2.metadata.continue}}&resourceVersion=5"),
        get(f"{LEASES}?limit=1&continue=${{2.metadata.continue}}&resourceVersion=0"),
    ),
    "a version that has not come yet": (get(f"{LEASES}?resourceVersion=9999999999"),),
    "an exact version of the past": (
        *_leases("a"),
        post(LEASES, changed(LEASE, {"metadata": {"name": "b"}})),
        delete(f"{LEASES}/a"),
        get(f"{LEASES}?resourceVersionMatch=Exact&resourceVersion=${{1.metadata.resourceVersion}}"),
        get(
            f"{LEASES}?resourceVersionMatch=NotOlderThan"
            "&resourceVersion=${1.metadata.resourceVersion}"
        ),
        get(f"{LEASES}?resourceVersion=${{0.metadata.resourceVersion}}"),
    ),
    "an object read at a version": (
        *_leases("a"),
        get(f"{LEASES}/a?resourceVersion=0"),
        get(f"{LEASES}/a?resourceVersion=${{0.metadata.resourceVersion}}"),
        get(f"{LEASES}/a?resourceVersion=abc"),
        get(f"{LEASES}/a?watch=true&odd=1"),
    ),
    "a list of all namespaces": (
        post(SECRETS, changed(SECRET, {"metadata": {"labels": {"set": "$name"}}})),
        get("/api/v1/secrets?labelSelector=set=$name"),
        get("/api/v1/secrets?labelSelector=set=$name&fieldSelector=metadata.namespace=$name"),
        get("/api/v1/secrets?fieldSelector=metadata.namespace=none-such"),
    ),
    "objects of a cluster, in order": (
        *(
            post(
                VOLUMES,
                changed(VOLUME, {"metadata": {"name": f"$name-{x}", "labels": {"set": "$name"}}}),
            )
            for x in ("b", "a", "a.b", "a-b", "c")
        ),
        get(f"{VOLUMES}?labelSelector=set=$name"),
        get(f"{VOLUMES}?labelSelector=set=$name", TABLE),
    ),
    "a table of pods and nodes": (
        post(PODS, changed(POD, {"metadata": {"labels": {"set": "$name"}}})),
        post(NODES, changed(NODE, {"metadata": {"labels": {"set": "$name"}}})),
        merge(f"{named(PODS, POD)}/status", {"status": {"phase": "Succeeded"}}),
        get(f"{PODS}?labelSelector=set=$name", TABLE),
        get(f"{NODES}?labelSelector=set=$name", TABLE),
        get(f"{NODES}?labelSelector=set=$name&includeObject=None", TABLE),
    ),
    "paths that lead nowhere": (
        get("/api/v1/odd"),
        get("/api/v2/pods"),
        get("/apis/odd.example/v1/things"),
        get("/apis/storage.k8s.io/v2/storageclasses"),
        get("/apis/storage.k8s.io/v1/odd"),
        get("/odd"),
        get(f"{LEASES}/a/odd"),
        get("/api/v1/namespaces/$name/nodes"),
        get("/api/v1/namespaces/$name/odd"),
        get("/api/v1/persistentvolumes/x/odd"),
        get("/api/v1/persistentvolumeclaims/x"),
        get(f"{LEASES}/%2e%2e"),
        get(f"{LEASES}/Upper_Case"),
        get(f"{LEASES}/"),
        get("/version/odd"),
        get("/healthz/odd"),
    ),
    "methods that do not fit": (
        post("/api/v1/configmaps", CONFIG_MAP),
        post(named(LEASES, LEASE), LEASE),
        delete("/api/v1/namespaces/$name/odd"),
        merge(LEASES, {}),
        post("/api/v1/nodes/x/status", {}),
        delete("/api/v1/nodes/x/status"),
        get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        get("/api/v1/namespaces/$name/pods/x/binding"),
    ),
}
