"""Secrets, config maps, service accounts, namespaces and nodes."""

from tests.conformance.asking import Again, Cases, Doc, delete, get, merge, post, put, strategic
from tests.conformance.cases.objects import (
    CONFIG_MAP,
    CONFIG_MAPS,
    NAMESPACE,
    NAMESPACES,
    NODE,
    NODES,
    SECRET,
    SECRETS,
    changed,
    creates,
    named,
    updates,
)

_SECRETS = {
    **creates(
        "secret",
        {
            "with plain text": {"data": {"key": None}, "stringData": {"a": "b"}},
            "with plain text over data": {"stringData": {"key": "other"}},
            "with what is not base64": {"data": {"key": "not base64!"}},
            "with a bad key": {"data": {"a/b": "YQ=="}},
            "with a key that is a directory": {"data": {"..": "YQ=="}},
            "with a long key": {"data": {"k" * 254: "YQ=="}},
            "with a null": {"data": {"key": None}},
            "for TLS": {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}},
            "for half of TLS": {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ=="}},
            "for a registry": {
                "type": "kubernetes.io/dockerconfigjson",
                "data": {".dockerconfigjson": "e30="},
            },
            "for a registry without its file": {"type": "kubernetes.io/dockerconfigjson"},
            "for a registry with a bad file": {
                "type": "kubernetes.io/dockerconfigjson",
                "data": {".dockerconfigjson": "YQ=="},
            },
            "for an old registry": {"type": "kubernetes.io/dockercfg"},
            "for basic authentication": {"type": "kubernetes.io/basic-auth"},
            "for ssh": {"type": "kubernetes.io/ssh-auth"},
            "for an account without a name": {"type": "kubernetes.io/service-account-token"},
            "of a type of its own": {"type": "example.com/own"},
            "too large": {"data": {"key": "YWFh" * 349526}},
            "for good": {"immutable": True},
        },
    ),
    **updates(
        "secret",
        {},
        {
            "to another type": {"type": "example.com/other"},
            "to other data": {"data": {"key": "b3RoZXI="}},
            "with plain text": {"stringData": {"more": "text"}},
            "to be immutable": {"immutable": True},
        },
    ),
    **updates(
        "secret",
        {"immutable": True},
        {
            "though immutable": {"data": {"key": "b3RoZXI="}},
            "to be mutable": {"immutable": False},
            "with a label, though immutable": {"metadata": {"labels": {"a": "b"}}},
        },
    ),
}
_CONFIG_MAPS = {
    **creates(
        "config map",
        {
            "with binary data": {"binaryData": {"b": "AAE="}},
            "with a key twice": {"binaryData": {"key": "AAE="}},
            "with a bad key": {"data": {"a b": "c"}},
            "with bad binary data": {"binaryData": {"b": "!"}},
            "with a number for data": {"data": {"key": 5}},
            "with a null for data": {"data": None},
            "with nothing": {"data": None, "binaryData": None},
            "too large": {"data": {"key": "x" * 1048577}},
            "for good": {"immutable": True},
        },
    ),
    **updates(
        "config map",
        {"immutable": True},
        {
            "though immutable": {"data": {"key": "other"}},
            "with binary data, though immutable": {"binaryData": {"b": "AAE="}},
            "to be mutable": {"immutable": None},
        },
    ),
}
_ACCOUNTS = {
    **creates(
        "service account",
        {
            "with secrets": {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "p"}]},
            "without a token": {"automountServiceAccountToken": False},
        },
    ),
    **updates(
        "service account",
        {"secrets": [{"name": "s"}]},
        {"with other secrets": {"secrets": [{"name": "t"}]}},
    ),
}

_MORE = named(NAMESPACES, NAMESPACE)
_NAMESPACES = {
    **creates(
        "namespace",
        {
            "with a long name": {"metadata": {"name": "n" * 64}},
            "with a dotted name": {"metadata": {"name": "a.b"}},
            "with finalizers of its own": {"spec": {"finalizers": ["example.com/mine"]}},
            "with a bad finalizer": {"spec": {"finalizers": ["odd"]}},
            "with another name in its label": {
                "metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}
            },
            "with a status": {"status": {"phase": "Terminating"}},
            "in a namespace": {"metadata": {"namespace": "other"}},
        },
    ),
    **updates(
        "namespace",
        {},
        {
            "without its label": {"metadata": {"labels": None}},
            "with another name in its label": {
                "metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}
            },
            "without finalizers": {"spec": {"finalizers": None}},
            "with a status, which is ignored": {"status": {"phase": "Terminating"}},
        },
    ),
    "namespace that goes away takes nothing new": (
        post(NAMESPACES, {**NAMESPACE, "spec": {"finalizers": ["kubernetes", "example.com/held"]}}),
        delete(_MORE),
        post(f"{_MORE}/configmaps", {"metadata": {"name": "late"}}),
    ),
    "namespace is finalized through its own path alone": (
        post(NAMESPACES, {**NAMESPACE, "spec": {"finalizers": ["example.com/held"]}}),
        put(_MORE, Again(0, {"spec": {"finalizers": None}})),
        put(f"{_MORE}/finalize", Again(0, {"spec": {"finalizers": None}})),
        get(_MORE),
    ),
    "namespace given a status": (
        post(NAMESPACES, NAMESPACE),
        put(f"{_MORE}/status", Again(0, {"status": {"phase": "Terminating"}})),
        merge(
            f"{_MORE}/status",
            {"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "r"}]}},
        ),
    ),
    "namespaces of the system may not be deleted": (
        delete(f"{NAMESPACES}/default"),
        delete(f"{NAMESPACES}/kube-system"),
        delete(f"{NAMESPACES}/kube-public"),
    ),
    "namespaces are not deleted together": (delete(NAMESPACES),),
    "nothing is created in a namespace that is not there": (
        post("/api/v1/namespaces/none-such/configmaps", CONFIG_MAP),
        post("/api/v1/namespaces/none-such/pods", {"metadata": {"name": "p"}}),
        get("/api/v1/namespaces/none-such/configmaps"),
        get("/api/v1/namespaces/none-such/configmaps/a"),
    ),
}


def _status(**fields: object) -> Doc:
    return {"status": fields}


_ONE = named(NODES, NODE)
_NODES = {
    **creates(
        "node",
        {
            "with a status": _status(
                capacity={"cpu": "4", "memory": "8Gi"},
                addresses=[{"type": "InternalIP", "address": "10.0.0.1"}],
                conditions=[{"type": "Ready", "status": "True"}],
                nodeInfo={"kubeletVersion": "v1.35.0", "osImage": "Debian"},
                volumesInUse=["kubernetes.io/csi/a^b"],
                volumesAttached=[{"name": "a", "devicePath": "/dev/a"}],
            ),
            "with ranges of addresses": {"spec": {"podCIDR": "10.1.0.0/24"}},
            "with bad ranges of addresses": {"spec": {"podCIDR": "10.1", "podCIDRs": ["10.1"]}},
            "with two ranges of one family": {"spec": {"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]}},
            "with bad taints": {
                "spec": {"taints": [{"key": "-", "effect": "Odd"}, {"key": "a", "value": "b c"}]}
            },
            "with a taint twice": {
                "spec": {
                    "taints": [
                        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                    ]
                }
            },
            "with negative capacity": _status(capacity={"cpu": "-1"}),
            "with an unknown resource": _status(capacity={"odd": "1"}),
            "that takes no pods": {"spec": {"unschedulable": True, "providerID": "a://b"}},
            "with an external id": {"spec": {"externalID": "x"}},
        },
    ),
    **updates(
        "node",
        {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "providerID": "a://b"}},
        {
            "to other ranges": {"spec": {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}},
            "to another provider": {"spec": {"providerID": "c://d"}},
            "to take no pods": {"spec": {"unschedulable": True}},
            "with a status, which is ignored": _status(capacity={"cpu": "1"}),
        },
    ),
    **{
        f"node given a status {words}": (
            post(NODES, NODE),
            put(f"{_ONE}/status", Again(0, change)),
            get(_ONE, "application/json;as=Table;v=v1;g=meta.k8s.io"),
        )
        for words, change in {
            "that it is ready": _status(
                conditions=[{"type": "Ready", "status": "True"}],
                addresses=[
                    {"type": "InternalIP", "address": "10.0.0.1"},
                    {"type": "ExternalIP", "address": "1.2.3.4"},
                    {"type": "Hostname", "address": "h"},
                ],
                nodeInfo={
                    "kubeletVersion": "v1.35.0",
                    "osImage": "Debian",
                    "kernelVersion": "6.1",
                    "containerRuntimeVersion": "crun://1",
                },
            ),
            "that it is not ready": _status(
                conditions=[{"type": "Ready", "status": "False", "reason": "r", "message": "m"}]
            ),
            "with an address twice": _status(
                addresses=[
                    {"type": "Hostname", "address": "h"},
                    {"type": "Hostname", "address": "h"},
                ]
            ),
            "with another spec and a label": {
                "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
                "spec": {"unschedulable": True},
            },
            "with negative capacity": _status(capacity={"cpu": "-1"}),
        }.items()
    },
    "node patched strategically, lists by their keys": (
        post(NODES, NODE),
        strategic(f"{_ONE}/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}}),
        strategic(f"{_ONE}/status", {"status": {"conditions": [{"type": "B", "status": "True"}]}}),
        strategic(
            f"{_ONE}/status", {"status": {"addresses": [{"type": "Hostname", "address": "a"}]}}
        ),
        strategic(
            f"{_ONE}/status", {"status": {"addresses": [{"type": "Hostname", "address": "b"}]}}
        ),
        strategic(_ONE, {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}}),
        strategic(_ONE, {"spec": {"podCIDRs": ["10.1.0.0/24"], "podCIDR": "10.1.0.0/24"}}),
    ),
    "node without a taint": (post(NODES, changed(NODE, {"spec": {"taints": None}})),),
}

CASES: Cases = {
    **_SECRETS,
    **_CONFIG_MAPS,
    **_ACCOUNTS,
    **_NAMESPACES,
    **_NODES,
    "secret whose data is replaced by a merge patch": (
        post(SECRETS, SECRET),
        merge(named(SECRETS, SECRET), {"stringData": {"a": "b"}, "data": {"key": None}}),
    ),
    "config map with a null value": (
        post(CONFIG_MAPS, '{"metadata":{"name":"$name"},"data":{"a":null}}'),
    ),
}
