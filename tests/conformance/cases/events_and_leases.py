"""Events in both of their groups, and leases."""

from tests.conformance.asking import Again, Cases, Doc, delete, get, merge, post, put, strategic
from tests.conformance.cases.objects import (
    EVENT,
    EVENT_V1,
    EVENTS,
    EVENTS_V1,
    LEASE,
    LEASES,
    changed,
    creates,
    named,
    updates,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ONE, ONE_V1 = named(EVENTS, EVENT), named(EVENTS_V1, EVENT_V1)

_EVENTS: dict[str, Doc] = {
    "about another namespace": {"involvedObject": {"namespace": "other"}},
    "about nothing of a namespace": {"involvedObject": {"namespace": None}},
    "of an unknown type": {"type": "Odd"},
    "without anything": {
        "involvedObject": {"kind": None, "name": None, "uid": None},
        "reason": None,
        "message": None,
        "type": None,
    },
    "with times": {
        "firstTimestamp": "2001-01-01T00:00:00Z",
        "lastTimestamp": "2001-01-01T00:00:10Z",
        "count": 3,
        "source": {"component": "c", "host": "h"},
    },
    "with a series": {
        "eventTime": "2001-01-01T00:00:00.000001Z",
        "series": {"count": 2, "lastObservedTime": "2001-01-01T00:00:00.000002Z"},
        "reportingComponent": "a.b/c",
        "reportingInstance": "i",
        "action": "Do",
    },
    "with a time but no reporter": {"eventTime": "2001-01-01T00:00:00.000001Z"},
    "with a time without a fraction": {"eventTime": "2001-01-01T00:00:00Z"},
    "with a generated name of capitals": {"metadata": {"name": "Odd_Name.x"}},
    "with a slash in its name": {"metadata": {"name": "a/b"}},
}
_EVENTS_V1: dict[str, Doc] = {
    "without a time": {"eventTime": None},
    "without a reporter": {"reportingController": None},
    "with a bad reporter": {"reportingController": "bad reporter!"},
    "without an instance": {"reportingInstance": None},
    "with a long instance": {"reportingInstance": "i" * 129},
    "without an action": {"action": None},
    "with a long action": {"action": "a" * 129},
    "without a reason": {"reason": None},
    "with a long reason": {"reason": "r" * 129},
    "of an unknown type": {"type": "Odd"},
    "with a long note": {"note": "n" * 1025},
    "with a series": {"series": {"count": 2, "lastObservedTime": "2001-01-02T03:04:06.000006Z"}},
    "with a series of nothing": {"series": {"count": 0}},
    "with fields of the past": {
        "deprecatedCount": 2,
        "deprecatedSource": {"component": "c"},
        "deprecatedFirstTimestamp": "2001-01-01T00:00:00Z",
        "deprecatedLastTimestamp": "2001-01-01T00:00:00Z",
    },
    "about another namespace": {"regarding": {"namespace": "other"}},
    "about an object with a related one": {"related": {"kind": "Node", "name": "n1"}},
}
_LEASES: dict[str, Doc] = {
    "with everything": {
        "spec": {
            "leaseDurationSeconds": 15,
            "acquireTime": "2001-01-01T00:00:00.000001Z",
            "renewTime": "2001-01-01T00:00:00.120000Z",
            "leaseTransitions": 2,
        }
    },
    "without a spec": {"spec": None},
    "of no duration": {"spec": {"leaseDurationSeconds": 0}},
    "with negative transitions": {"spec": {"leaseTransitions": -1}},
    "of an empty holder": {"spec": {"holderIdentity": ""}},
    "with a strategy": {"spec": {"strategy": "OldestEmulationVersion"}},
    "with a preferred holder": {"spec": {"preferredHolder": "you"}},
    "with a time in another zone": {"spec": {"renewTime": "2001-01-01T02:00:00.000000+02:00"}},
    "with a time of nine digits": {"spec": {"renewTime": "2001-01-01T02:00:00.123456789Z"}},
    "with a time of three digits": {"spec": {"renewTime": "2001-01-01T02:00:00.123Z"}},
    "with a time without a fraction": {"spec": {"renewTime": "2001-01-01T02:00:00Z"}},
    "with a time that is none": {"spec": {"renewTime": "yesterday"}},
}

CASES: Cases = {
    **creates("event", _EVENTS),
    **creates("event of events.k8s.io", _EVENTS_V1),
    **creates("lease", _LEASES),
    **updates("event", {}, {"to another message": {"message": "other"}, "again": {"count": 2}}),
    **updates(
        "event of events.k8s.io",
        {},
        {
            "to another note": {"note": "other"},
            "to another action": {"action": "Other"},
            "to a series": {
                "series": {"count": 2, "lastObservedTime": "2001-01-02T03:04:06.000006Z"}
            },
        },
    ),
    **updates(
        "lease",
        {},
        {
            "to another holder": {"spec": {"holderIdentity": "you", "leaseTransitions": 1}},
            "without a version": {"metadata": {"resourceVersion": None}},
            "to less than nothing": {"spec": {"leaseDurationSeconds": -1}},
        },
    ),
    "event of the core seen through events.k8s.io": (
        post(
            EVENTS,
            changed(EVENT, {"source": {"component": "c"}, "lastTimestamp": "2001-01-01T00:00:00Z"}),
        ),
        get(ONE_V1),
        get(ONE_V1, TABLE),
        delete(ONE_V1),
        get(ONE),
    ),
    "event of events.k8s.io seen through the core": (
        post(EVENTS_V1, EVENT_V1),
        get(ONE),
        get(ONE, TABLE),
        strategic(ONE, {"count": 2, "message": "more"}),
        get(ONE_V1),
    ),
    "event counted up by a patch": (
        post(EVENTS, changed(EVENT, {"count": 1, "lastTimestamp": "2001-01-01T00:00:00Z"})),
        strategic(ONE, {"count": 2, "lastTimestamp": "2001-01-01T00:00:05Z"}),
        merge(ONE, {"message": None}),
    ),
    "event put where there is none": (
        put(ONE, EVENT),
        put(f"{EVENTS}/x", changed(EVENT, {"metadata": {"name": "x"}})),
    ),
    "lease put where there is none": (put(named(LEASES, LEASE), LEASE),),
    "lease taken over by whoever writes first": (
        post(LEASES, LEASE),
        put(named(LEASES, LEASE), Again(0, {"spec": {"holderIdentity": "you"}})),
        put(named(LEASES, LEASE), Again(0, {"spec": {"holderIdentity": "they"}})),
    ),
    "events found by what they are about": (
        post(EVENTS, EVENT),
        post(
            EVENTS,
            changed(EVENT, {"metadata": {"name": "other"}, "involvedObject": {"name": "db"}}),
        ),
        get(f"{EVENTS}?fieldSelector=involvedObject.name=web"),
        get(f"{EVENTS}?fieldSelector=involvedObject.name!=web,type=Normal"),
        get(f"{EVENTS}?fieldSelector=involvedObject.fieldPath="),
        get(f"{EVENTS}?fieldSelector=reason=Tried,source=,reportingComponent="),
        get(f"{EVENTS}?fieldSelector=involvedObject.odd=x"),
        get(f"{EVENTS_V1}?fieldSelector=regarding.name=web"),
        get(f"{EVENTS_V1}?fieldSelector=involvedObject.name=web"),
        get(f"{EVENTS_V1}?fieldSelector=reportingController="),
        get(f"{EVENTS_V1}?fieldSelector=odd=x"),
    ),
}
