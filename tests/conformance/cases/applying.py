"""Server-side apply: owners, conflicts, removal, creation; fields as they are written down."""

from tests.conformance.asking import APPLY, Cases, Doc, Step, apply, get, merge, post, put
from tests.conformance.cases.objects import (
    CLAIM,
    CLAIMS,
    CONFIG_MAP,
    CONFIG_MAPS,
    CSI_NODE,
    CSI_NODES,
    NODE,
    NODES,
    POD,
    PODS,
    VOLUME,
    VOLUMES,
    changed,
    named,
)

ONE = named(CONFIG_MAPS, CONFIG_MAP)
POD_ONE, CLAIM_ONE, VOLUME_ONE = named(PODS, POD), named(CLAIMS, CLAIM), named(VOLUMES, VOLUME)
BARE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "$name"}}


def _data(**data: str) -> Doc:
    return {**BARE, "data": data}


def _pod(**container: object) -> Doc:
    return changed(POD, {"spec": {"containers": [{"name": "main", "image": "box", **container}]}})


_REFUSED: dict[str, object] = {
    "without a kind": {"metadata": {"name": "$name"}},
    "of another kind": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "$name"}},
    "of another version": {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "$name"}},
    "of another name": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}},
    "of another namespace": {**BARE, "metadata": {"name": "$name", "namespace": "other"}},
    "without a name": {**BARE, "metadata": {}},
    "with managed fields": {**BARE, "metadata": {"name": "$name", "managedFields": [{}]}},
    "with an unknown field": {**BARE, "odd": 1},
    "of a number where text belongs": {**BARE, "data": {"a": 5}},
    "of a list where a map belongs": {**BARE, "data": ["a"]},
    "of a null": (
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"$name"},"data":{"a":null}}'
    ),
    "of an old version": {**BARE, "metadata": {"name": "$name", "resourceVersion": "1"}},
    "of a uid": {**BARE, "metadata": {"name": "$name", "uid": "u"}},
    "of an invalid object": {**BARE, "data": {"a b": "c"}},
    "of a list": "[]",
    "with a duplicate in a set": {
        **BARE,
        "metadata": {"name": "$name", "finalizers": ["a.b/c", "a.b/c"]},
    },
}

CASES: Cases = {
    **{
        f"an apply {words}": (
            apply(ONE, "m", body),
            post(CONFIG_MAPS, CONFIG_MAP),
            apply(ONE, "m", body),
        )
        for words, body in _REFUSED.items()
    },
    "a conflict with one manager": (
        apply(ONE, "one", _data(a="1", b="1")),
        apply(ONE, "two", _data(a="2")),
        apply(ONE, "two", _data(a="2", b="2")),
        apply(ONE, "two", _data(a="2", b="2"), force=True),
        apply(ONE, "one", _data(a="1", b="1")),
    ),
    "a conflict with several managers": (
        apply(ONE, "one", _data(a="1")),
        apply(ONE, "two", _data(b="1")),
        apply(ONE, "three", _data(a="2", b="2")),
        merge(f"{ONE}?fieldManager=four", {"data": {"c": "1"}}),
        apply(ONE, "three", _data(a="2", c="2")),
        merge(f"{ONE}?fieldManager=five", {"data": {"d": "1"}}),
        apply(ONE, "three", _data(c="2", d="2")),
    ),
    "the same value is shared": (
        apply(ONE, "one", _data(a="1")),
        apply(ONE, "two", _data(a="1")),
        apply(ONE, "one", _data(b="1")),
        apply(ONE, "two", BARE),
    ),
    "what is no longer applied goes, unless somebody else owns it": (
        apply(ONE, "one", _data(a="1", b="1", c="1")),
        merge(f"{ONE}?fieldManager=other", {"data": {"b": "2"}}),
        apply(ONE, "one", _data(c="1")),
        apply(ONE, "one", BARE),
    ),
    "applied again unchanged": (
        apply(ONE, "one", _data(a="1")),
        apply(ONE, "one", _data(a="1")),
        apply(ONE, "one", _data(a="1"), force=True),
    ),
    "applied over what nobody tracks": (
        post(CONFIG_MAPS, CONFIG_MAP),
        put(ONE, {**CONFIG_MAP, "metadata": {"name": "$name", "managedFields": [{}]}}),
        apply(ONE, "one", _data(a="1")),
        apply(ONE, "one", _data(a="1", key="other")),
    ),
    "applied over what kubectl applied on its own side": (
        post(
            f"{CONFIG_MAPS}?fieldManager=kubectl-client-side-apply",
            changed(
                CONFIG_MAP,
                {
                    "metadata": {
                        "annotations": {
                            "kubectl.kubernetes.io/last-applied-configuration": (
                                '{"apiVersion":"v1","data":{"key":"value"},"kind":"ConfigMap"}\n'
                            )
                        }
                    }
                },
            ),
        ),
        apply(ONE, "kubectl", {**BARE, "data": {"key": "new"}}),
        get(ONE),
    ),
    "applied with a status, which is not owned": (
        apply(CLAIM_ONE, "one", changed(CLAIM, {"status": {"phase": "Bound"}})),
        apply(
            f"{CLAIM_ONE}/status",
            "two",
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "$name"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
            },
        ),
        merge(f"{CLAIM_ONE}/status", {"status": {"phase": "Lost"}}),
        get(CLAIM_ONE),
    ),
    "keyed lists are owned item by item": (
        apply(
            POD_ONE, "one", _pod(env=[{"name": "A", "value": "1"}], ports=[{"containerPort": 80}])
        ),
        apply(
            POD_ONE,
            "two",
            changed(POD, {"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        ),
        apply(
            POD_ONE,
            "two",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "$name", "labels": {"a": "b"}, "finalizers": ["a.b/c"]},
            },
        ),
        apply(
            POD_ONE,
            "three",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "$name", "finalizers": ["a.b/d"]},
                "spec": {"tolerations": [{"key": "x", "operator": "Exists"}]},
            },
        ),
        apply(
            POD_ONE,
            "two",
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$name"}},
        ),
    ),
    "an item without its key is refused": (
        apply(POD_ONE, "one", _pod(ports=[{"name": "x"}])),
        apply(POD_ONE, "one", _pod(env=[{"value": "x"}])),
        apply(POD_ONE, "one", _pod(env=[{"name": "A"}, {"name": "A"}])),
        apply(POD_ONE, "one", _pod(ports=[{"containerPort": 1}, {"containerPort": 1}])),
    ),
    "drivers of a CSI node are owned one by one": (
        apply(named(CSI_NODES, CSI_NODE), "one", CSI_NODE),
        apply(
            named(CSI_NODES, CSI_NODE),
            "two",
            changed(
                CSI_NODE,
                {"spec": {"drivers": [{"name": "b.c", "nodeID": "b", "topologyKeys": ["zone"]}]}},
            ),
        ),
        apply(named(CSI_NODES, CSI_NODE), "one", changed(CSI_NODE, {"spec": {"drivers": []}})),
    ),
    "references and selectors are owned whole": (
        apply(
            VOLUME_ONE,
            "one",
            changed(VOLUME, {"spec": {"claimRef": {"name": "a", "namespace": "b"}}}),
        ),
        merge(f"{VOLUME_ONE}?fieldManager=two", {"spec": {"claimRef": {"uid": "u"}}}),
        apply(
            CLAIM_ONE,
            "one",
            changed(
                CLAIM,
                {
                    "spec": {
                        "selector": {"matchLabels": {"a": "b"}},
                        "dataSource": {"kind": "PersistentVolumeClaim", "name": "x"},
                    }
                },
            ),
        ),
    ),
    "taints and addresses of a node": (
        apply(named(NODES, NODE), "one", NODE),
        apply(
            f"{named(NODES, NODE)}/status",
            "two",
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": "$name"},
                "status": {
                    "addresses": [{"type": "Hostname", "address": "h"}],
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "volumesAttached": [{"name": "a", "devicePath": "b"}],
                },
            },
        ),
    ),
    "an apply written in YAML": (
        Step(
            "PATCH",
            f"{ONE}?fieldManager=m",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: $name\ndata:\n  a: b\n",
            APPLY,
        ),
    ),
    "an apply to a status that is not there": (
        apply(f"{CLAIMS}/none/status", "m", {**CLAIM, "metadata": {"name": "none"}}),
    ),
    "an apply as a trial": (
        apply(f"{ONE}", "m", BARE),
        Step("PATCH", f"{ONE}?fieldManager=m&dryRun=All", _data(a="b"), APPLY),
        get(ONE),
    ),
}
