"""PersistentVolumeClaims: defaults, validation, what may change, status, admission."""

from tests.conformance.asking import Again, Cases, Doc, Step, delete, get, merge, post, put
from tests.conformance.cases.objects import (
    CLAIM,
    CLAIMS,
    CLASS,
    CLASSES,
    changed,
    creates,
    named,
    updates,
)

ONE = named(CLAIMS, CLAIM)
BOUND = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}


def _spec(**fields: object) -> Doc:
    return {"spec": fields}


def _asking_for(amount: object) -> Doc:
    return {"spec": {"resources": {"requests": {"storage": amount}}}}


_CREATED: dict[str, Doc] = {
    "without access modes": _spec(accessModes=[]),
    "with an unknown access mode": _spec(accessModes=["ReadWriteSometimes"]),
    "with ReadWriteOncePod and another mode": _spec(
        accessModes=["ReadWriteOncePod", "ReadWriteOnce"]
    ),
    "with the same mode twice": _spec(accessModes=["ReadWriteOnce", "ReadWriteOnce"]),
    "without a request": _spec(resources={"requests": None}),
    "without a spec": {"spec": None},
    "with a request of zero": _asking_for("0"),
    "with a negative request": _asking_for("-1Gi"),
    "with a request of fractional bytes": _asking_for("1.5"),
    "with a request that is no quantity": _asking_for("abc"),
    "with a request with a lower-case suffix": _asking_for("1gi"),
    "with a number for a request": _asking_for(10000000000),
    "with a request in smaller units": _asking_for("1024Mi"),
    "with a request written with an exponent": _asking_for("1e3"),
    "with a request of nanobytes": _asking_for("1n"),
    "with a request beyond 64 bits": _asking_for("99999999Ei"),
    "with a limit": {"spec": {"resources": {"limits": {"storage": "2Gi"}}}},
    "with a bad class name": _spec(storageClassName="Bad_Class"),
    "with an empty class name": _spec(storageClassName=""),
    "with a volume mode of its own": _spec(volumeMode="Tape"),
    "for a block device": _spec(volumeMode="Block"),
    "with a volume chosen": _spec(volumeName="v1"),
    "with a selector": _spec(
        selector={
            "matchLabels": {"a": "b"},
            "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}],
        }
    ),
    "with a selector without values": _spec(
        selector={"matchExpressions": [{"key": "c", "operator": "In"}]}
    ),
    "with a selector with needless values": _spec(
        selector={"matchExpressions": [{"key": "c", "operator": "Exists", "values": ["x"]}]}
    ),
    "with a selector of an unknown operator": _spec(
        selector={"matchExpressions": [{"key": "c", "operator": "Like", "values": ["x"]}]}
    ),
    "with bad labels in its selector": _spec(selector={"matchLabels": {"-a": "b c"}}),
    "from a snapshot": _spec(
        dataSource={"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    ),
    "from another claim": _spec(dataSource={"kind": "PersistentVolumeClaim", "name": "other"}),
    "from what cannot be a source": _spec(
        dataSource={"apiGroup": "odd.example", "kind": "Thing", "name": "t"}
    ),
    "from anything, by reference": _spec(
        dataSourceRef={"apiGroup": "odd.example", "kind": "Thing", "name": "t"}
    ),
    "from another claim, by reference": _spec(
        dataSourceRef={"kind": "PersistentVolumeClaim", "name": "other"}
    ),
    "from a core kind that is no claim": _spec(dataSourceRef={"kind": "Secret", "name": "s"}),
    "from two sources that differ": _spec(
        dataSource={"kind": "PersistentVolumeClaim", "name": "one"},
        dataSourceRef={"kind": "PersistentVolumeClaim", "name": "two"},
    ),
    "from a source without a name": _spec(dataSource={"kind": "PersistentVolumeClaim"}),
    "from a reference without kind and name": _spec(
        dataSourceRef={"apiGroup": "odd.example", "kind": "", "name": ""}
    ),
    "from a reference into a namespace": _spec(
        dataSourceRef={
            "apiGroup": "snapshot.storage.k8s.io",
            "kind": "VolumeSnapshot",
            "name": "s",
            "namespace": "elsewhere",
        }
    ),
    "with an attributes class": _spec(volumeAttributesClassName="gold"),
    "with an empty attributes class": _spec(volumeAttributesClassName=""),
    "with a bad attributes class": _spec(volumeAttributesClassName="Bad_Class"),
    "with the class in the old annotation": {
        "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
    },
    "with a status of its own": BOUND,
}

_UPDATED: dict[str, Doc] = {
    "to ask for more": _asking_for("2Gi"),
    "to another access mode": _spec(accessModes=["ReadOnlyMany"]),
    "to the same amount in other units": _asking_for("1024Mi"),
    "to a volume": _spec(volumeName="v1"),
    "to a class": _spec(storageClassName="fast"),
    "to another mode": _spec(volumeMode="Block"),
    "to a selector": _spec(selector={"matchLabels": {"a": "b"}}),
    "to an attributes class": _spec(volumeAttributesClassName="gold"),
    "without its finalizer": {"metadata": {"finalizers": None}},
    "with a status, which is ignored": BOUND,
    "to a source": _spec(dataSource={"kind": "PersistentVolumeClaim", "name": "other"}),
}

_STATUS: dict[str, Doc] = {
    "that is bound": BOUND,
    "with a negative capacity": {"status": {"capacity": {"storage": "-1"}}},
    "with an unknown phase": {"status": {"phase": "Waiting"}},
    "with conditions": {
        "status": {
            "conditions": [{"type": "Resizing", "status": "True", "reason": "r", "message": "m"}]
        }
    },
    "with resizing": {
        "status": {
            "allocatedResources": {"storage": "2Gi"},
            "allocatedResourceStatuses": {"storage": "NodeResizePending"},
        }
    },
    "with an unknown state of resizing": {
        "status": {"allocatedResourceStatuses": {"storage": "Dreaming"}}
    },
    "with a bad resource name": {
        "status": {
            "allocatedResources": {"odd/name/x": "1"},
            "allocatedResourceStatuses": {"odd/name/x": "NodeResizePending"},
        }
    },
    "with resizing of what is not stored": {
        "status": {
            "allocatedResources": {"cpu": "1"},
            "allocatedResourceStatuses": {"cpu": "NodeResizePending"},
        }
    },
    "with attributes": {
        "status": {
            "currentVolumeAttributesClassName": "gold",
            "modifyVolumeStatus": {
                "targetVolumeAttributesClassName": "silver",
                "status": "InProgress",
            },
        }
    },
    "with a label and another spec": {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"volumeName": "v9"},
    },
}

_BOUND_CHANGES: dict[str, Doc] = {
    "to grow": _asking_for("2Gi"),
    "to shrink": _asking_for("1Mi"),
    "to another access mode": _spec(accessModes=["ReadOnlyMany"]),
    "to another volume": _spec(volumeName="v2"),
    "to an attributes class": _spec(volumeAttributesClassName="gold"),
    "to grow beyond another limit": {"spec": {"resources": {"limits": {"storage": "5Gi"}}}},
}

_EXPANDABLE = changed(CLASS, {"allowVolumeExpansion": True})
_IN_CLASS = changed(CLAIM, _spec(storageClassName="$name", volumeName="v1"))


def _bound(change: Doc, storage_class: Doc) -> tuple[Step, ...]:
    return (
        post(CLASSES, storage_class),
        post(CLAIMS, _IN_CLASS),
        put(f"{ONE}/status", Again(1, BOUND)),
        put(ONE, Again(2, change)),
        get(ONE),
    )


_DEFAULT = {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}

CASES: Cases = {
    **creates("claim", _CREATED),
    **updates("claim", {}, _UPDATED),
    **{
        f"claim given a status {words}": (
            post(CLAIMS, CLAIM),
            put(f"{ONE}/status", Again(0, change)),
            get(ONE),
        )
        for words, change in _STATUS.items()
    },
    **{
        f"bound claim of an expandable class updated {words}": _bound(change, _EXPANDABLE)
        for words, change in _BOUND_CHANGES.items()
    },
    **{
        f"bound claim of a fixed class updated {words}": _bound(change, CLASS)
        for words, change in _BOUND_CHANGES.items()
    },
    "claim without a class gets the default one": (
        post(CLASSES, changed(CLASS, _DEFAULT)),
        post(CLAIMS, CLAIM),
        post(
            CLAIMS, changed(CLAIM, {"metadata": {"name": "none"}, "spec": {"storageClassName": ""}})
        ),
        delete(f"{CLASSES}/$name"),
    ),
    "claim without a class gets the newest of two default ones, by name when made together": (
        post(CLASSES, changed(CLASS, changed(_DEFAULT, {"metadata": {"name": "$name-b"}}))),
        post(CLASSES, changed(CLASS, changed(_DEFAULT, {"metadata": {"name": "$name-a"}}))),
        post(CLAIMS, CLAIM),
        delete(f"{CLASSES}/$name-a"),
        delete(f"{CLASSES}/$name-b"),
    ),
    "attributes of a bound claim may not be taken back": (
        post(CLAIMS, changed(CLAIM, _spec(volumeName="v1", volumeAttributesClassName="gold"))),
        put(
            f"{ONE}/status",
            Again(0, {"status": {**BOUND["status"], "currentVolumeAttributesClassName": "gold"}}),
        ),
        merge(ONE, {"spec": {"volumeAttributesClassName": None}}),
        merge(ONE, {"spec": {"volumeAttributesClassName": ""}}),
        merge(ONE, {"spec": {"volumeAttributesClassName": "silver"}}),
    ),
}
