"""Bodies: JSON that is broken or odd, YAML, protobuf, media types, unknown fields."""

from tests.conformance.asking import (
    APPLY,
    JSON,
    PROTOBUF,
    YAML,
    Again,
    Binary,
    Case,
    Cases,
    Step,
    apply,
    get,
    merge,
    post,
    put,
    strategic,
)
from tests.conformance.cases.objects import (
    CLAIM,
    CLAIMS,
    CONFIG_MAP,
    CONFIG_MAPS,
    LEASE,
    LEASES,
    POD,
    PODS,
    SECRET,
    SECRETS,
    VOLUME,
    VOLUMES,
    changed,
    named,
)

ONE = named(CONFIG_MAPS, CONFIG_MAP)

_BROKEN: dict[str, str | bytes] = {
    "an unfinished object": '{"metadata":',
    "no JSON at all": "{bad json",
    "nothing": "",
    "a list": "[]",
    "a list of objects": "[{}]",
    "a string": '"x"',
    "a number": "5",
    "null": "null",
    "an object and more": '{"metadata":{"name":"$name"}} more',
    "two objects": '{"metadata":{"name":"$name"}}{"metadata":{"name":"b"}}',
    "an object and blanks": ' {"metadata":{"name":"$name"}} \n',
    "very deep nesting": '{"a":' * 12000 + "1" + "}" * 12000,
    "text that is not UTF-8": b'{"metadata":{"name":"a"},"data":{"k":"\xff"}}',
    "metadata that is a string": '{"metadata":"x"}',
    "a name that is a number": '{"metadata":{"name":5}}',
    "data that is a list": '{"metadata":{"name":"$name"},"data":["a"]}',
    "immutable as a string": '{"metadata":{"name":"$name"},"immutable":"yes"}',
    "a number as the kind": '{"kind":5,"metadata":{"name":"$name"}}',
    "a kind without a version": '{"kind":"ConfigMap","metadata":{"name":"$name"}}',
    "a version without a kind": '{"apiVersion":"v1","metadata":{"name":"$name"}}',
    "another version": '{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"$name"}}',
    "a version of three parts": (
        '{"kind":"ConfigMap","apiVersion":"a/b/c","metadata":{"name":"$name"}}'
    ),
    "another kind": '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"$name"}}',
    "a kind nobody knows": '{"kind":"Odd","apiVersion":"odd/v1","metadata":{"name":"$name"}}',
    "the same key twice": '{"metadata":{"name":"$name"},"data":{"a":"b","a":"c"}}',
    "the same field twice": '{"metadata":{"name":"$name"},"data":{"a":"b"},"data":{"c":"d"}}',
    "a field in other capitals": '{"metadata":{"name":"$name"},"Data":{"a":"b"}}',
    "unknown fields": '{"metadata":{"name":"$name","odd":1},"odd":{"a":1},"more":[]}',
    "unknown fields and a key twice": (
        '{"metadata":{"name":"$name"},"odd":1,"data":{"a":"b","a":"c"}}'
    ),
    "escapes": '{"metadata":{"name":"$name"},"data":{"a":"\\u0041\\ud83d\\ude00<&>"}}',
    "a lone surrogate": '{"metadata":{"name":"$name"},"data":{"a":"\\ud83d"}}',
    "a control character": '{"metadata":{"name":"$name"},"data":{"a":"\u0001"}}',
}


def _in_all_modes(body: str | bytes) -> Case:
    return (
        post(f"{CONFIG_MAPS}?dryRun=All", body),
        post(f"{CONFIG_MAPS}?dryRun=All&fieldValidation=Strict", body),
        post(f"{CONFIG_MAPS}?dryRun=All&fieldValidation=Ignore", body),
    )


_YAML: dict[str, str] = {
    "usual YAML": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: $name\ndata:\n  a: 'b'\n",
    "YAML with a number for a string": "metadata:\n  name: $name\ndata:\n  a: 5\n",
    "YAML with a boolean": "metadata:\n  name: $name\nimmutable: yes\ndata: {a: 'on'}\n",
    "YAML with an unknown field": "metadata:\n  name: $name\nodd: 1\n",
    "YAML with a key twice": "metadata:\n  name: $name\ndata:\n  a: b\n  a: c\n",
    "broken YAML": "metadata: [unclosed\n",
    "YAML with anchors": "metadata: &m\n  name: $name\ndata: {a: &x b, c: *x}\n",
    "two YAML documents": "metadata:\n  name: $name\n---\nmetadata:\n  name: b\n",
    "no YAML": "",
    "JSON as YAML": '{"metadata":{"name":"$name"},"data":{"a":"b"}}',
}

_UNKNOWN = {"spec": {"odd": 1, "csi": {"odd": 2}}, "odd": 3}

_TYPES: dict[str, Step] = {
    "without a type": post(CONFIG_MAPS, CONFIG_MAP, ""),
    "as text": post(CONFIG_MAPS, CONFIG_MAP, "text/plain"),
    "as JSON in UTF-8": post(CONFIG_MAPS, CONFIG_MAP, "application/json; charset=utf-8"),
    "as what no client sends": post(CONFIG_MAPS, CONFIG_MAP, "application/odd"),
    "as a broken type": post(CONFIG_MAPS, CONFIG_MAP, ";;"),
    "as a form": post(CONFIG_MAPS, CONFIG_MAP, "application/x-www-form-urlencoded"),
    "as a patch": post(CONFIG_MAPS, CONFIG_MAP, "application/merge-patch+json"),
}
_ACCEPTED: dict[str, str] = {
    "anything": "*/*",
    "any application": "application/*",
    "text alone": "text/html",
    "text or anything": "text/html,*/*;q=0.1",
    "JSON with a quality": "application/json;q=0.5",
    "an unknown view": "application/json;as=Odd;v=v1;g=meta.k8s.io",
    "a table or JSON": "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
    "an old table": "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
}

CASES: Cases = {
    **{f"a body of {words}": _in_all_modes(body) for words, body in _BROKEN.items()},
    **{
        f"a body of {words}": (
            post(f"{CONFIG_MAPS}?dryRun=All", body, YAML),
            post(f"{CONFIG_MAPS}?dryRun=All&fieldValidation=Strict", body, YAML),
        )
        for words, body in _YAML.items()
    },
    **{f"a body sent {words}": (step,) for words, step in _TYPES.items()},
    **{
        f"an answer accepted as {words}": (post(CONFIG_MAPS, CONFIG_MAP), get(ONE, accept))
        for words, accept in _ACCEPTED.items()
    },
    "unknown fields of a volume in every way to write it": (
        post(VOLUMES, changed(VOLUME, _UNKNOWN)),
        put(named(VOLUMES, VOLUME), Again(0, _UNKNOWN)),
        merge(named(VOLUMES, VOLUME), _UNKNOWN),
        strategic(named(VOLUMES, VOLUME), _UNKNOWN),
        merge(f"{named(VOLUMES, VOLUME)}?fieldValidation=Strict", _UNKNOWN),
        strategic(f"{named(VOLUMES, VOLUME)}?fieldValidation=Strict", _UNKNOWN),
        put(f"{named(VOLUMES, VOLUME)}?fieldValidation=Strict", Again(0, _UNKNOWN)),
        apply(named(VOLUMES, VOLUME), "m", changed(VOLUME, {"odd": 3})),
    ),
    "unknown fields within lists": (
        post(
            PODS,
            changed(
                POD,
                {
                    "spec": {
                        "containers": [{"name": "a", "image": "b", "odd": 1, "env": [{"odd": 2}]}],
                        "volumes": [{"name": "v", "emptyDir": {"odd": 3}}],
                    }
                },
            ),
        ),
    ),
    "zero values that say nothing": (
        post(
            CLAIMS,
            changed(
                CLAIM,
                {
                    "metadata": {"labels": {}, "annotations": {}, "generateName": "", "uid": ""},
                    "spec": {"volumeName": "", "selector": {}, "resources": {"limits": {}}},
                    "status": {},
                },
            ),
        ),
        post(
            VOLUMES,
            changed(
                VOLUME,
                {
                    "spec": {
                        "storageClassName": "",
                        "mountOptions": [],
                        "csi": {"readOnly": False, "fsType": "", "volumeAttributes": {}},
                    }
                },
            ),
        ),
        post(
            PODS,
            changed(
                POD,
                {
                    "spec": {
                        "hostNetwork": False,
                        "nodeName": "",
                        "nodeSelector": {},
                        "containers": [
                            {
                                "name": "main",
                                "image": "box",
                                "args": [],
                                "stdin": False,
                                "workingDir": "",
                                "env": [{"name": "A", "value": ""}],
                                "securityContext": {"capabilities": {}, "privileged": False},
                            }
                        ],
                        "volumes": [{"name": "e", "emptyDir": {"medium": ""}}],
                    }
                },
            ),
        ),
        post(SECRETS, changed(SECRET, {"data": {"key": ""}, "type": "", "stringData": {}})),
        merge(
            named(CLAIMS, CLAIM),
            '{"spec":{"volumeName":""},"metadata":{"labels":{},"finalizers":["a.b/c"]}}',
        ),
        merge(named(CLAIMS, CLAIM), {"metadata": {"finalizers": []}}),
    ),
    "nulls that say nothing": (
        post(
            CLAIMS,
            '{"metadata":{"name":"$name","labels":null,"annotations":{"a":null}},"spec":{'
            '"accessModes":["ReadWriteOnce"],"selector":null,"volumeMode":null,'
            '"resources":{"requests":{"storage":"1Gi"},"limits":null}},"status":null}',
        ),
    ),
    "a claim as protobuf": (
        post(CLAIMS, Binary(CLAIM, "core.v1.PersistentVolumeClaim"), PROTOBUF),
        post(
            CLAIMS,
            Binary(
                changed(CLAIM, {"metadata": {"name": "b"}, "spec": {"storageClassName": ""}}),
                "core.v1.PersistentVolumeClaim",
            ),
            PROTOBUF,
        ),
    ),
    "a volume as protobuf": (post(VOLUMES, Binary(VOLUME, "core.v1.PersistentVolume"), PROTOBUF),),
    "a pod as protobuf": (post(PODS, Binary(POD, "core.v1.Pod"), PROTOBUF),),
    "a secret as protobuf": (post(SECRETS, Binary(SECRET, "core.v1.Secret"), PROTOBUF),),
    "a lease as protobuf": (
        post(
            LEASES,
            Binary(
                changed(LEASE, {"spec": {"renewTime": "2001-01-01T00:00:00.000005Z"}}),
                "coordination.v1.Lease",
            ),
            PROTOBUF,
        ),
    ),
    "protobuf of another kind": (post(CLAIMS, Binary(CONFIG_MAP, "core.v1.ConfigMap"), PROTOBUF),),
    "protobuf without its first bytes": (post(CLAIMS, b"\x0a\x02v1", PROTOBUF),),
    "protobuf that is cut": (post(CLAIMS, b"k8s\x00\x0a\x7f", PROTOBUF),),
    "protobuf of nothing": (post(CLAIMS, b"", PROTOBUF),),
    "a body too large": (
        post(CONFIG_MAPS, '{"metadata":{"name":"$name"},"data":{"a":"' + "x" * 3145728 + '"}}'),
        merge(ONE, '{"data":{"a":"' + "x" * 3145728 + '"}}'),
    ),
    "an apply of what is no YAML": (
        Step("PATCH", f"{ONE}?fieldManager=m", "{unclosed: [", APPLY),
        Step("PATCH", f"{ONE}?fieldManager=m", "just words", APPLY),
        Step("PATCH", f"{ONE}?fieldManager=m", "", APPLY),
        Step("PATCH", f"{ONE}?fieldManager=m", CONFIG_MAP, JSON),
    ),
}
