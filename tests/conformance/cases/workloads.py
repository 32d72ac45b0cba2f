"""Replication controllers, roles and bindings, and the parts of a pod that its node serves."""

from tests.conformance.asking import (
    PROTOBUF,
    Again,
    Binary,
    Cases,
    Doc,
    apply,
    delete,
    get,
    json_patch,
    merge,
    post,
    put,
    strategic,
)
from tests.conformance.cases.objects import (
    CONTROLLER,
    CONTROLLERS,
    POD,
    PODS,
    ROLE,
    ROLES,
    changed,
    creates,
    named,
    updates,
)

_LABELLED = {"spec": {"template": {"metadata": {"labels": {"app": "a", "b": "c"}}}}}
_ONE = named(CONTROLLERS, CONTROLLER)
_SCALE = f"{_ONE}/scale"
_POD = named(PODS, POD)
_DEBUGGERS = f"{_POD}/ephemeralcontainers"
_DEBUGGER = {"name": "debug", "image": "box"}

_CONTROLLERS = {
    **creates(
        "replication controller",
        {
            "with a narrower selector": changed(_LABELLED, {"spec": {"selector": {"app": "a"}}}),
            "with a selector that does not fit": {"spec": {"selector": {"app": "b"}}},
            "without a template": {"spec": {"template": None, "selector": {"app": "a"}}},
            "without a spec": {"spec": None},
            "without labels": {"spec": {"template": {"metadata": None}}},
            "with fewer than no replicas": {"spec": {"replicas": -1}},
            "with no replicas": {"spec": {"replicas": 0}},
            "with negative seconds": {"spec": {"minReadySeconds": -1}},
            "of pods that end": {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}},
            "of pods with a deadline": {
                "spec": {"template": {"spec": {"activeDeadlineSeconds": 5}}}
            },
            "of pods without containers": {"spec": {"template": {"spec": {"containers": []}}}},
            "of pods with a bad label": {
                "spec": {
                    "selector": {"app": "a"},
                    "template": {"metadata": {"labels": {"a b": ""}}},
                }
            },
            "with a status, which is ignored": {"status": {"replicas": 7}},
            "with a name that is no label": {"metadata": {"name": "$name.x"}},
            "with labels of its own": {"metadata": {"labels": {"x": "y"}}},
        },
    ),
    **updates(
        "replication controller",
        {},
        {
            "to more": {"spec": {"replicas": 5}},
            "to another image": {
                "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "b"}]}}}
            },
            "to another selector": {"spec": {"selector": {"app": "b"}}},
        },
    ),
    "replication controller: its status": (
        post(CONTROLLERS, CONTROLLER),
        merge(f"{_ONE}/status", {"status": {"replicas": 2, "readyReplicas": 1}}),
        merge(f"{_ONE}/status", {"status": {"replicas": 1, "readyReplicas": 2}}),
        merge(f"{_ONE}/status", {"status": {"replicas": 3, "availableReplicas": 2}}),
        merge(f"{_ONE}/status", {"spec": {"replicas": 9}}),
        get(f"{CONTROLLERS}?fieldSelector=status.replicas=2"),
    ),
    "replication controller: as protobuf": (
        post(CONTROLLERS, Binary(CONTROLLER, "core.v1.ReplicationController"), PROTOBUF),
    ),
    "replication controller: a strategic patch of its containers": (
        post(CONTROLLERS, CONTROLLER),
        strategic(
            _ONE,
            {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "new"}]}}}},
        ),
    ),
    "replication controller: applied twice": (
        apply(_ONE, "one", changed(CONTROLLER, {"spec": {"replicas": 2}})),
        apply(_ONE, "one", CONTROLLER),
    ),
    "replication controller: deleted without a word": (
        post(CONTROLLERS, CONTROLLER),
        delete(_ONE),
    ),
    "replication controller: deleted in the background": (
        post(CONTROLLERS, CONTROLLER),
        delete(f"{_ONE}?propagationPolicy=Background"),
    ),
    "scale: read and put": (
        post(CONTROLLERS, CONTROLLER),
        get(_SCALE),
        put(_SCALE, Again(1, {"spec": {"replicas": 3}})),
        put(_SCALE, Again(1, {"spec": {"replicas": 4}})),
        put(_SCALE, Again(1, {"metadata": {"resourceVersion": None, "uid": "other"}})),
        get(_ONE),
    ),
    "scale: patched": (
        post(CONTROLLERS, CONTROLLER),
        merge(_SCALE, {"spec": {"replicas": 0}}),
        strategic(_SCALE, {"spec": {"replicas": 2}}),
        json_patch(_SCALE, {"op": "replace", "path": "/spec/replicas", "value": 1}),
        merge(_SCALE, {"spec": {"replicas": -1}}),
        merge(f"{CONTROLLERS}/nobody/scale", {"spec": {"replicas": 1}}),
        get(f"{CONTROLLERS}/nobody/scale"),
    ),
}

_ROLE_RULES: dict[str, Doc] = {
    "without rules": {"rules": None},
    "without verbs": {"rules": [{"apiGroups": [""], "resources": ["pods"]}]},
    "with verbs alone": {"rules": [{"verbs": ["get"]}]},
    "with a path": {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
    "with a path and resources": {
        "rules": [
            {
                "verbs": ["get"],
                "nonResourceURLs": ["/x"],
                "apiGroups": [""],
                "resources": ["pods"],
            }
        ]
    },
    "with a name of many parts": {"metadata": {"name": "system:$name:x"}},
    "with a name that is a path": {"metadata": {"name": "a/b"}},
}
_SUBJECTS: dict[str, Doc] = {
    "to nobody": {"subjects": None},
    "to a user": {"subjects": [{"kind": "User", "name": "jane"}]},
    "to a group": {"subjects": [{"kind": "Group", "name": "team"}]},
    "to a user of another group": {
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": "example.com"}]
    },
    "to an account without a namespace": {
        "subjects": [{"kind": "ServiceAccount", "name": "default"}]
    },
    "to an account with a bad name": {
        "subjects": [{"kind": "ServiceAccount", "name": "Bad_", "namespace": "$name"}]
    },
    "to a pod": {"subjects": [{"kind": "Pod", "name": "x"}]},
    "to somebody without a name": {"subjects": [{"kind": "User"}]},
    "of nothing": {"roleRef": {"name": None}},
    "of a pod": {"roleRef": {"kind": "Pod"}},
    "of another group": {"roleRef": {"apiGroup": "example.com"}},
}

_ROLES = {
    **creates("role", _ROLE_RULES),
    **creates("cluster role", _ROLE_RULES),
    **creates(
        "cluster role",
        {
            "of others": {
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
            },
            "of no others": {"aggregationRule": {}},
        },
    ),
    **creates("role binding", _SUBJECTS),
    **creates("cluster role binding", _SUBJECTS),
    **updates(
        "role binding",
        {},
        {
            "to another role": {"roleRef": {"name": "other"}},
            "to another subject": {"subjects": [{"kind": "User", "name": "joe"}]},
        },
    ),
    "role: put where there is none": (put(named(ROLES, ROLE), ROLE),),
}

_PARTS = {
    "pod without a node: its log": (
        post(PODS, POD),
        get(f"{_POD}/log", view=lambda _: None),
        get(f"{_POD}/log?tailLines=-1"),
        get(f"{_POD}/log?limitBytes=0"),
        get(f"{_POD}/log?sinceSeconds=0"),
        get(f"{_POD}/log?container=other"),
        get(f"{_POD}/log?stream=Both"),
        get(f"{_POD}/log?stream=Stdout&tailLines=1"),
        get(f"{PODS}/nobody/log"),
    ),
    "pod without a node: exec and the like": (
        post(PODS, POD),
        get(f"{_POD}/exec?command=x"),
        post(f"{_POD}/exec?command=x&container=other", None),
        post(f"{_POD}/attach", None),
        post(f"{_POD}/portforward?ports=80", None),
        post(f"{PODS}/nobody/exec", None),
    ),
    "pod with several containers: which one": (
        post(
            PODS,
            changed(
                POD,
                {"spec": {"containers": [{"name": n, "image": "box"} for n in ("a", "b")]}},
            ),
        ),
        get(f"{_POD}/log"),
        get(f"{_POD}/exec"),
    ),
    "pod on a node that is not there": (
        post(PODS, changed(POD, {"spec": {"nodeName": "nowhere"}})),
        get(f"{_POD}/log"),
        get(f"{_POD}/exec"),
    ),
    "ephemeral containers: added, kept": (
        post(PODS, POD),
        strategic(_DEBUGGERS, {"spec": {"ephemeralContainers": [_DEBUGGER]}}),
        get(_DEBUGGERS),
        merge(_DEBUGGERS, {"spec": {"ephemeralContainers": []}}),
        strategic(_DEBUGGERS, {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeName": "x"}}),
        strategic(_DEBUGGERS, {"spec": {"ephemeralContainers": [{"name": "main", "image": "x"}]}}),
        strategic(_DEBUGGERS, {"spec": {"ephemeralContainers": [{"name": "more"}]}}),
    ),
}

CASES: Cases = {**_CONTROLLERS, **_ROLES, **_PARTS}
