"""Deployments, replica sets and controller revisions."""

from tests.conformance.asking import PROTOBUF, Binary, Cases, Doc, apply, delete, get, merge, post
from tests.conformance.cases.objects import (
    DEPLOYMENT,
    DEPLOYMENTS,
    REPLICA_SET,
    REPLICA_SETS,
    REVISION,
    REVISIONS,
    changed,
    creates,
    named,
    updates,
)

_ROLLING = {"type": "RollingUpdate"}


def _rolling(**limits: int | str) -> Doc:
    return {"spec": {"strategy": {**_ROLLING, "rollingUpdate": limits}}}


def _on_the_network(host_port: int) -> Doc:
    port = {"containerPort": 80, **({"hostPort": host_port} if host_port else {})}
    return {
        "hostNetwork": True,
        "containers": [{"name": "c", "image": "busybox:1", "ports": [port]}],
    }


_OF_BOTH: dict[str, Doc] = {
    "without a selector": {"spec": {"selector": None}},
    "with an empty selector": {"spec": {"selector": {"matchLabels": None}}},
    "with a selector that does not match": {"spec": {"selector": {"matchLabels": {"app": "b"}}}},
    "with a selector by expression": {
        "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
    },
    "with an operator that is none": {
        "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}
    },
    "without a template": {"spec": {"template": None}},
    "without a spec": {"spec": None},
    "with fewer than no replicas": {"spec": {"replicas": -1, "minReadySeconds": -1}},
    "with no replicas": {"spec": {"replicas": 0}},
    "of pods that end": {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}},
    "of pods on the node's network": {"spec": {"template": {"spec": _on_the_network(80)}}},
    "of pods on the node's network with no port of it": {
        "spec": {"template": {"spec": _on_the_network(0)}}
    },
    "of pods on the node's network with another port": {
        "spec": {"template": {"spec": _on_the_network(81)}}
    },
    "of pods with a deadline": {"spec": {"template": {"spec": {"activeDeadlineSeconds": 5}}}},
    "with a status, which is ignored": {"status": {"replicas": 7}},
    "with a name that is no label": {"metadata": {"name": "$name.x"}},
}
_DEPLOYMENT_ALONE: dict[str, Doc] = {
    "with limits": _rolling(maxSurge=2, maxUnavailable="10%"),
    "with one limit": _rolling(maxSurge=0),
    "with no room at all": _rolling(maxSurge=0, maxUnavailable="0%"),
    "with more missing than there are": _rolling(maxUnavailable="101%"),
    "with negative limits": _rolling(maxSurge=-1, maxUnavailable=-2),
    "with limits that are none": _rolling(maxSurge="few", maxUnavailable="5"),
    "that recreates": {"spec": {"strategy": {"type": "Recreate"}}},
    "that recreates within limits": {
        "spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}
    },
    "with another strategy": {"spec": {"strategy": {"type": "Hope"}}},
    "with a deadline too short": {"spec": {"progressDeadlineSeconds": 5, "minReadySeconds": 5}},
    "with less history than none": {"spec": {"revisionHistoryLimit": -1}},
}
_CHANGES: dict[str, Doc] = {
    "to more": {"spec": {"replicas": 5}},
    "to another selector": {"spec": {"selector": {"matchLabels": {"b": "c"}}}},
    "to a label of its own": {"metadata": {"labels": {"x": "y"}}},
    "to an annotation of its own": {"metadata": {"annotations": {"x": "y"}}},
}
_COUNTS = {"replicas": 2, "readyReplicas": 1, "availableReplicas": 1}


def _life(what: str, path: str, doc: Doc, message: str) -> Cases:
    one = named(path, doc)
    return {
        f"{what}: its counts": (
            post(path, doc),
            merge(f"{one}/status", {"status": _COUNTS}),
            merge(f"{one}/status", {"status": {"replicas": 1, "readyReplicas": 2}}),
            merge(f"{one}/status", {"status": {"replicas": 3, "availableReplicas": 2}}),
            merge(f"{one}/status", {"status": {"terminatingReplicas": -1}}),
            merge(f"{one}/status", {"spec": {"replicas": 9}}),
            merge(f"{one}/status", {"metadata": {"annotations": {"a": "b"}}}),
        ),
        f"{what}: as protobuf": (post(path, Binary(doc, message), PROTOBUF),),
        f"{what}: its scale": (
            post(path, doc),
            get(f"{one}/scale"),
            merge(f"{one}/scale", {"spec": {"replicas": -1}}),
            get(one),
        ),
        f"{what}: applied twice": (
            apply(one, "one", changed(doc, {"spec": {"replicas": 2}})),
            apply(one, "one", doc),
        ),
        f"{what}: deleted without a word": (post(path, doc), delete(one)),
    }


CASES: Cases = {
    **creates("deployment", _OF_BOTH | _DEPLOYMENT_ALONE),
    **creates("replica set", _OF_BOTH),
    **updates("deployment", {}, _CHANGES),
    **updates("replica set", {}, _CHANGES),
    **_life("deployment", DEPLOYMENTS, DEPLOYMENT, "apps.v1.Deployment"),
    **_life("replica set", REPLICA_SETS, REPLICA_SET, "apps.v1.ReplicaSet"),
    "deployment: fewer collisions than before": (
        post(DEPLOYMENTS, DEPLOYMENT),
        merge(f"{named(DEPLOYMENTS, DEPLOYMENT)}/status", {"status": {"collisionCount": 2}}),
        merge(f"{named(DEPLOYMENTS, DEPLOYMENT)}/status", {"status": {"collisionCount": 1}}),
    ),
    **creates(
        "revision",
        {
            "without data": {"data": None},
            "before the first": {"revision": -1},
        },
    ),
    **updates(
        "revision", {}, {"to another number": {"revision": 7}, "to other data": {"data": {}}}
    ),
    "revision: as protobuf": (
        post(REVISIONS, Binary(REVISION, "apps.v1.ControllerRevision"), PROTOBUF),
    ),
}
