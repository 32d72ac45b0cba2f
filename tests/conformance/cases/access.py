"""Who may do what: reviews, tokens of accounts, nodes, strangers."""

from typing import Any

from tests.conformance.asking import Again, Cases, Step, as_user, get, merge, post, put, seen_by
from tests.conformance.cases.objects import (
    ACCOUNT,
    ACCOUNTS,
    CLAIM,
    CLAIMS,
    CONFIG_MAP,
    CONFIG_MAPS,
    CSI_NODE,
    CSI_NODES,
    LEASE,
    NODE,
    NODES,
    POD,
    PODS,
    SECRET,
    SECRETS,
    VOLUME,
    VOLUMES,
    changed,
    named,
)

_AUTHORIZATION = "/apis/authorization.k8s.io/v1"
_AUTHENTICATION = "/apis/authentication.k8s.io/v1"
TOKEN = f"{named(ACCOUNTS, ACCOUNT)}/token"


def _unowned(doc: Any) -> Any:
    """Theirs says who owns the fields of an answer that is stored nowhere."""
    if not isinstance(doc, dict) or not isinstance(doc.get("metadata"), dict):
        return doc
    metadata = {k: v for k, v in doc["metadata"].items() if k != "managedFields"}
    return {**doc, "metadata": metadata}


def _review(path: str, body: Any) -> Step:
    return seen_by(_unowned, post(path, body))


def _asked(**attributes: object) -> Step:
    return _review(
        f"{_AUTHORIZATION}/selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": attributes}},
    )


def _wanted(**spec: object) -> Step:
    return _review(TOKEN, {"spec": spec})


def _stranger(step: Step) -> Step:
    return as_user("bob", step)


def _node(step: Step) -> Step:
    """As the node whose name is the case's own."""
    return as_user("system:node:$name", step, "system:nodes")


def _anonymous(step: Step) -> Step:
    return Step(step.method, step.path, step.body, headers={**step.headers, "Authorization": ""})


def _with_token(token: str, step: Step) -> Step:
    return Step(step.method, step.path, step.body, headers={**step.headers, "Authorization": token})


_SA = "system:serviceaccount:$name:$name"
ON_NODE = changed(
    POD,
    {
        "spec": {
            "nodeName": "$name",
            "volumes": [
                {"name": "c", "persistentVolumeClaim": {"claimName": "$name"}},
                {"name": "s", "secret": {"secretName": "$name"}},
            ],
        }
    },
)

CASES: Cases = {
    "a token for an account": (
        post(ACCOUNTS, ACCOUNT),
        _wanted(),
        _wanted(audiences=["a", "b"], expirationSeconds=600),
        _wanted(expirationSeconds=5),
        _wanted(expirationSeconds=4294967297),
        _wanted(boundObjectRef={"kind": "Odd", "apiVersion": "v1", "name": "x"}),
        _wanted(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "none"}),
        _wanted(boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "none"}),
        post(f"{ACCOUNTS}/none/token", {"spec": {}}),
        post(TOKEN, {"kind": "Odd", "apiVersion": "v1"}),
        get(TOKEN),
    ),
    "a token that is bound to a pod": (
        post(ACCOUNTS, ACCOUNT),
        post(PODS, changed(POD, {"spec": {"serviceAccountName": "$name"}})),
        _wanted(
            boundObjectRef={
                "kind": "Pod",
                "apiVersion": "v1",
                "name": "$name",
                "uid": "${1.metadata.uid}",
            }
        ),
        _wanted(
            boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "$name", "uid": "another"}
        ),
    ),
    "a token reviewed": (
        post(ACCOUNTS, ACCOUNT),
        _wanted(),
        _review(f"{_AUTHENTICATION}/tokenreviews", {"spec": {"token": "${1.status.token}"}}),
        _review(f"{_AUTHENTICATION}/tokenreviews", {"spec": {"token": "nonsense"}}),
        _review(f"{_AUTHENTICATION}/tokenreviews", {"spec": {}}),
        _review(f"{_AUTHENTICATION}/tokenreviews", {"metadata": {"name": "x"}, "spec": {}}),
    ),
    "who somebody is": (
        _review(f"{_AUTHENTICATION}/selfsubjectreviews", {}),
        _stranger(_review(f"{_AUTHENTICATION}/selfsubjectreviews", {})),
        as_user("eve", _review(f"{_AUTHENTICATION}/selfsubjectreviews", {}), "people"),
        as_user(_SA, _review(f"{_AUTHENTICATION}/selfsubjectreviews", {})),
        _node(_review(f"{_AUTHENTICATION}/selfsubjectreviews", {})),
        _review(f"{_AUTHENTICATION}/selfsubjectreviews", {"metadata": {"name": "x"}}),
    ),
    "whether the administrator may": (
        _asked(verb="delete", resource="pods", namespace="default"),
        _asked(verb="odd", group="odd", resource="odd"),
        _review(
            f"{_AUTHORIZATION}/selfsubjectaccessreviews",
            {"spec": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}},
        ),
    ),
    "whether a stranger may": (
        _stranger(_asked(verb="delete", resource="pods", namespace="default")),
        _stranger(
            _review(
                f"{_AUTHORIZATION}/selfsubjectaccessreviews",
                {"spec": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}},
            )
        ),
    ),
    "reviews that ask nothing, or too much": (
        _review(f"{_AUTHORIZATION}/selfsubjectaccessreviews", {"spec": {}}),
        _review(f"{_AUTHORIZATION}/selfsubjectaccessreviews", {}),
        _review(
            f"{_AUTHORIZATION}/selfsubjectaccessreviews",
            {
                "spec": {
                    "resourceAttributes": {"verb": "get"},
                    "nonResourceAttributes": {"path": "/", "verb": "get"},
                }
            },
        ),
        _review(f"{_AUTHORIZATION}/subjectaccessreviews", {"spec": {"user": "bob"}}),
        _review(
            f"{_AUTHORIZATION}/subjectaccessreviews",
            {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
        ),
        _review(
            f"{_AUTHORIZATION}/namespaces/$name/localsubjectaccessreviews",
            {
                "spec": {
                    "user": "bob",
                    "resourceAttributes": {"verb": "get", "namespace": "other"},
                }
            },
        ),
    ),
    "whether somebody else may": (
        _review(
            f"{_AUTHORIZATION}/subjectaccessreviews",
            {"spec": {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods"}}},
        ),
        _review(
            f"{_AUTHORIZATION}/subjectaccessreviews",
            {
                "spec": {
                    "user": "eve",
                    "groups": ["system:masters"],
                    "resourceAttributes": {"verb": "get", "resource": "pods"},
                }
            },
        ),
        _review(
            f"{_AUTHORIZATION}/namespaces/$name/localsubjectaccessreviews",
            {
                "spec": {
                    "user": "bob",
                    "resourceAttributes": {
                        "verb": "get",
                        "namespace": "$name",
                        "resource": "secrets",
                    },
                }
            },
        ),
    ),
    "a stranger is refused": (
        _stranger(get(PODS)),
        _stranger(get(f"{PODS}/x")),
        _stranger(get(NODES)),
        _stranger(get(f"{NODES}/x")),
        _stranger(post(CONFIG_MAPS, CONFIG_MAP)),
        _stranger(get("/apis/storage.k8s.io/v1/storageclasses")),
        _stranger(get(f"{PODS}/x/log")),
        _stranger(get("/metrics")),
        _stranger(get("/odd")),
        _stranger(get("/api/v1/odd")),
        _stranger(get(f"{PODS}?watch=true")),
        _stranger(get("/api")),
    ),
    "who shows no token is refused": (
        _anonymous(get(PODS)),
        _anonymous(get("/api")),
        _anonymous(get("/healthz")),
        _anonymous(post(CONFIG_MAPS, CONFIG_MAP)),
        _anonymous(post(f"{_AUTHENTICATION}/selfsubjectreviews", {})),
    ),
    "who shows a bad token is refused": (
        _with_token("Bearer nonsense", get(PODS)),
        _with_token("Bearer nonsense", get("/healthz")),
        _with_token("Basic YWRtaW46eA==", get("/healthz")),
    ),
    "who may not is not impersonated": (
        as_user("bob", get(PODS), "system:masters"),
        Step("GET", PODS, headers={"Impersonate-Group": "x"}),
    ),
    "a node and what is its own": (
        post(NODES, NODE),
        _node(get(f"{NODES}/$name")),
        _node(get(f"{NODES}/other")),
        _node(post(CSI_NODES, CSI_NODE)),
        _node(post(CSI_NODES, changed(CSI_NODE, {"metadata": {"name": "other"}}))),
        _node(
            post(
                "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
                changed(LEASE, {"metadata": {"name": "other"}}),
            )
        ),
        _node(merge(f"{NODES}/$name", {"metadata": {"labels": {"a.b/c": "d"}}})),
        _node(
            merge(
                f"{NODES}/$name",
                {"metadata": {"labels": {"node-restriction.kubernetes.io/x": "d"}}},
            )
        ),
        _node(
            merge(f"{NODES}/$name", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
        ),
        _node(merge(f"{NODES}/$name/status", {"status": {"capacity": {"cpu": "1"}}})),
        _node(merge(f"{NODES}/other/status", {"status": {}})),
        _node(get(VOLUMES)),
        _node(get("/apis/storage.k8s.io/v1/storageclasses")),
        _node(get("/api/v1/pods")),
        _node(get("/api/v1/pods?fieldSelector=spec.nodeName=$name")),
        _node(post(PODS, changed(POD, {"spec": {"nodeName": "$name"}}))),
    ),
    "a node and what its pods need": (
        post(NODES, NODE),
        post(CLAIMS, changed(CLAIM, {"spec": {"volumeName": "$name"}})),
        post(
            VOLUMES,
            changed(
                VOLUME,
                {
                    "spec": {
                        "claimRef": {
                            "namespace": "$name",
                            "name": "$name",
                            "uid": "${1.metadata.uid}",
                        }
                    }
                },
            ),
        ),
        post(SECRETS, SECRET),
        post(SECRETS, changed(SECRET, {"metadata": {"name": "other"}})),
        post(PODS, ON_NODE),
        _node(get(named(PODS, POD))),
        _node(get(named(CLAIMS, CLAIM))),
        _node(get(named(VOLUMES, VOLUME))),
        _node(get(named(SECRETS, SECRET))),
        _node(get(f"{SECRETS}/other")),
        _node(get(SECRETS)),
        _node(merge(f"{named(PODS, POD)}/status", {"status": {"phase": "Running"}})),
        _node(merge(named(PODS, POD), {"metadata": {"labels": {"a": "b"}}})),
        _node(put(f"{named(CLAIMS, CLAIM)}/status", Again(1, {"status": {"phase": "Bound"}}))),
    ),
}
