"""PATCH: JSON patches, merge patches, strategic merge patches."""

from tests.conformance.asking import (
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Cases,
    Doc,
    Step,
    json_patch,
    merge,
    patch,
    post,
    strategic,
)
from tests.conformance.cases.objects import (
    ACCOUNT,
    ACCOUNTS,
    CONFIG_MAP,
    CONFIG_MAPS,
    CSI_NODE,
    CSI_NODES,
    POD,
    PODS,
    VOLUME,
    VOLUMES,
    changed,
    named,
)

ONE = named(CONFIG_MAPS, CONFIG_MAP)


def _op(op: str, path: str, **rest: object) -> Doc:
    return {"op": op, "path": path, **rest}


_OPERATIONS: dict[str, tuple[Doc, ...]] = {
    "that adds": (_op("add", "/data/b", value="c"),),
    "that adds to what is not there": (_op("add", "/metadata/labels/a", value="b"),),
    "that replaces": (_op("replace", "/data/key", value="new"),),
    "that replaces what is not there": (_op("replace", "/data/none", value="x"),),
    "that removes": (_op("remove", "/data/key"),),
    "that removes what is not there": (_op("remove", "/data/none"),),
    "that tests": (_op("test", "/data/key", value="value"), _op("add", "/data/b", value="c")),
    "that fails its test": (_op("test", "/data/key", value="other"),),
    "that tests what is not there": (_op("test", "/data/none", value="x"),),
    "that copies": (_op("copy", "/data/b", **{"from": "/data/key"}),),
    "that copies what is not there": (_op("copy", "/data/b", **{"from": "/data/none"}),),
    "that moves": (_op("move", "/data/b", **{"from": "/data/key"}),),
    "that does what nobody knows": (_op("odd", "/data/b"),),
    "without a path": ({"op": "add", "value": "x"},),
    "without a value": (_op("add", "/data/b"),),
    "with a path without a slash": (_op("add", "data", value={}),),
    "with an escaped path": (_op("add", "/data/a~1b", value="c"),),
    "of everything": (
        _op("replace", "", value={"kind": "ConfigMap", "apiVersion": "v1", "data": {"all": "new"}}),
    ),
    "that removes everything": (_op("remove", ""),),
    "to the end of a list": (
        _op("add", "/metadata/finalizers", value=["a.b/c"]),
        _op("add", "/metadata/finalizers/-", value="a.b/d"),
        _op("add", "/metadata/finalizers/0", value="a.b/e"),
    ),
    "beyond the end of a list": (
        _op("add", "/metadata/finalizers", value=["a.b/c"]),
        _op("add", "/metadata/finalizers/5", value="a.b/d"),
    ),
    "of a number where text belongs": (_op("add", "/data/b", value=5),),
    "of an unknown field": (_op("add", "/odd", value=5),),
    "of nothing": (),
    "of its name": (_op("replace", "/metadata/name", value="other"),),
}

_RAW: dict[str, tuple[str, str]] = {
    "an object as a JSON patch": (JSON_PATCH, "{}"),
    "broken JSON as a JSON patch": (JSON_PATCH, "[{"),
    "too many operations": (
        JSON_PATCH,
        "[" + ",".join(['{"op":"test","path":"/kind","value":"ConfigMap"}'] * 10001) + "]",
    ),
    "a list as a merge patch": (MERGE, "[]"),
    "a string as a merge patch": (MERGE, '"x"'),
    "null as a merge patch": (MERGE, "null"),
    "broken JSON as a merge patch": (MERGE, "{bad"),
    "nothing as a merge patch": (MERGE, ""),
    "YAML as a merge patch": (MERGE, "data:\n  a: b\n"),
    "a list as a strategic patch": (STRATEGIC, "[]"),
    "broken JSON as a strategic patch": (STRATEGIC, "{bad"),
    "JSON of no patch": ("application/json", "{}"),
    "text": ("text/plain", "{}"),
    "no type": ("", "{}"),
}

_MERGED: dict[str, object] = {
    "that adds and removes": {"data": {"a": "b", "key": None}},
    "that removes all": {"data": None},
    "of a number where text belongs": {"data": {"a": 5}},
    "of a list where a map belongs": {"data": ["a"]},
    "of another kind": {"kind": "Odd"},
    "of another version": {"apiVersion": "v2"},
    "of nothing": {},
    "of nulls for what is not there": {"immutable": None, "odd": None},
    "of an unknown field": {"odd": {"a": 1}},
}

X = {"name": "csi.example.com", "nodeID": "id-1"}
Y = {"name": "b.example.com", "nodeID": "id-2", "topologyKeys": ["zone"]}
DRIVERS_ONE = named(CSI_NODES, CSI_NODE)
_STRATEGIC: dict[str, Doc] = {
    "adds an item before the others": {"spec": {"drivers": [Y]}},
    "adds an item after the others, when told": {
        "spec": {
            "drivers": [Y],
            "$setElementOrder/drivers": [{"name": X["name"]}, {"name": Y["name"]}],
        }
    },
    "deletes an item": {"spec": {"drivers": [{"$patch": "delete", "name": X["name"]}]}},
    "deletes an item that is not there": {"spec": {"drivers": [{"$patch": "delete", "name": "z"}]}},
    "replaces the list": {"spec": {"drivers": [Y, {"$patch": "replace"}]}},
    "replaces the object": {"spec": {"$patch": "replace", "drivers": [Y]}},
    "deletes the object": {"spec": {"$patch": "delete"}},
    "refuses an item without its key": {"spec": {"drivers": [{"nodeID": "x"}]}},
    "refuses an unknown directive": {"spec": {"drivers": [{"name": X["name"], "$patch": "odd"}]}},
    "refuses an order that names too few": {
        "spec": {"drivers": [Y], "$setElementOrder/drivers": [{"name": X["name"]}]}
    },
    "removes the list": {"spec": {"drivers": None}},
    "changes nothing": {"spec": {"drivers": [{"name": X["name"]}]}},
}
_PRIMITIVE: dict[str, Doc] = {
    "adds": {"metadata": {"finalizers": ["a.b/new"]}},
    "removes": {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/one"]}},
    "orders": {
        "metadata": {"$setElementOrder/finalizers": ["a.b/two", "a.b/one"], "finalizers": []}
    },
    "removes all": {"metadata": {"finalizers": None}},
}
_VOLUME_KEYS = {
    "replaces a source and its rest": {
        "spec": {
            "volumes": [
                {"name": "a", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}
            ]
        }
    },
}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "${0.metadata.uid}"}
HELD = changed(CONFIG_MAP, {"metadata": {"finalizers": ["a.b/one", "a.b/two"]}})

CASES: Cases = {
    **{
        f"a JSON patch {words}": (post(CONFIG_MAPS, CONFIG_MAP), json_patch(ONE, *operations))
        for words, operations in _OPERATIONS.items()
    },
    **{
        f"a patch of {words}": (post(CONFIG_MAPS, CONFIG_MAP), Step("PATCH", ONE, body, kind))
        for words, (kind, body) in _RAW.items()
    },
    **{
        f"a merge patch {words}": (
            post(CONFIG_MAPS, CONFIG_MAP),
            merge(ONE, body),
            merge(f"{ONE}?fieldValidation=Strict", body),
        )
        for words, body in _MERGED.items()
    },
    **{
        f"a strategic patch of a keyed list {words}": (
            post(CSI_NODES, CSI_NODE),
            strategic(DRIVERS_ONE, body),
        )
        for words, body in _STRATEGIC.items()
    },
    **{
        f"a strategic patch of a set {words}": (
            post(CONFIG_MAPS, HELD),
            strategic(ONE, body),
        )
        for words, body in _PRIMITIVE.items()
    },
    "a strategic patch of a list without a key replaces it": (
        post(VOLUMES, changed(VOLUME, {"spec": {"mountOptions": ["a", "b"]}})),
        strategic(named(VOLUMES, VOLUME), {"spec": {"mountOptions": ["c"]}}),
        strategic(named(VOLUMES, VOLUME), {"spec": {"claimRef": {"name": "c", "namespace": "d"}}}),
        strategic(named(VOLUMES, VOLUME), {"spec": {"claimRef": {"uid": "u"}}}),
        strategic(named(VOLUMES, VOLUME), {"spec": {"claimRef": None}}),
    ),
    "a strategic patch of an account's secrets": (
        post(
            ACCOUNTS, {**ACCOUNT, "secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "p"}]}
        ),
        strategic(named(ACCOUNTS, ACCOUNT), {"secrets": [{"name": "b"}]}),
        strategic(named(ACCOUNTS, ACCOUNT), {"imagePullSecrets": [{"name": "q"}]}),
    ),
    "a strategic patch of owners": (
        post(CONFIG_MAPS, changed(CONFIG_MAP, {"metadata": {"name": "owner"}})),
        post(CONFIG_MAPS, changed(CONFIG_MAP, {"metadata": {"ownerReferences": [OWNER]}})),
        strategic(
            ONE,
            {"metadata": {"ownerReferences": [{"uid": OWNER["uid"], "blockOwnerDeletion": True}]}},
        ),
        strategic(
            ONE, {"metadata": {"ownerReferences": [{"uid": OWNER["uid"], "$patch": "delete"}]}}
        ),
    ),
    "a strategic patch of a pod's volumes": (
        post(PODS, changed(POD, {"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}})),
        *(strategic(f"{named(PODS, POD)}?dryRun=All", body) for body in _VOLUME_KEYS.values()),
    ),
    "a patch of what is not there": (
        patch(ONE, MERGE, {}),
        patch(ONE, STRATEGIC, {}),
        json_patch(ONE),
    ),
    "a patch of a collection": (patch(CONFIG_MAPS, MERGE, {}),),
    "a patch with an old version": (
        post(CONFIG_MAPS, CONFIG_MAP),
        merge(ONE, {"data": {"a": "b"}}),
        merge(
            ONE,
            {"metadata": {"resourceVersion": "${0.metadata.resourceVersion}"}, "data": {"a": "c"}},
        ),
        merge(
            ONE,
            {"metadata": {"resourceVersion": "${1.metadata.resourceVersion}"}, "data": {"a": "c"}},
        ),
    ),
}
