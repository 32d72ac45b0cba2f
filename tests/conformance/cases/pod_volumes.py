"""The volumes of pods, and how containers mount them."""

from tests.conformance.asking import Cases, Doc
from tests.conformance.cases.objects import creates
from tests.conformance.cases.pods import MAIN


def _spec(**fields: object) -> Doc:
    return {"spec": fields}


def _container(**fields: object) -> Doc:
    return {"spec": {"containers": [{**MAIN, **fields}]}}


def _volume(**source: object) -> Doc:
    return {"spec": {"volumes": [{"name": "data", **source}]}}


def _mounted(mount: Doc, **source: object) -> Doc:
    return {
        "spec": {
            "volumes": [{"name": "data", **source}],
            "containers": [{**MAIN, "volumeMounts": [{"name": "data", **mount}]}],
        }
    }


def _device(device: Doc, **source: object) -> Doc:
    return {
        "spec": {
            "volumes": [{"name": "data", **source}],
            "containers": [{**MAIN, "volumeDevices": [{"name": "data", **device}]}],
        }
    }


_TEMPLATE = {
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
}
_CLAIMED = {"persistentVolumeClaim": {"claimName": "c"}}

_VOLUMES: dict[str, Doc] = {
    "with a volume of no source": _volume(),
    "with a scratch volume": _volume(emptyDir={"medium": "Memory", "sizeLimit": "1Gi"}),
    "with a scratch volume of a negative size": _volume(emptyDir={"sizeLimit": "-1"}),
    "with a scratch volume in an unknown medium": _volume(emptyDir={"medium": "Clay"}),
    "with a volume without a name": _spec(volumes=[{"emptyDir": {}}]),
    "with a volume of a bad name": _spec(volumes=[{"name": "Bad.Name", "emptyDir": {}}]),
    "with a volume twice": _spec(volumes=[{"name": "a"}, {"name": "a"}]),
    "with a volume of two sources": _volume(emptyDir={}, hostPath={"path": "/x"}),
    "with a claim": _volume(**_CLAIMED),
    "with a claim without a name": _volume(persistentVolumeClaim={}),
    "with a claim of a bad name": _volume(persistentVolumeClaim={"claimName": "Bad_Name"}),
    "with a secret": _volume(secret={"secretName": "s"}),
    "with a secret without a name": _volume(secret={}),
    "with a secret of a bad mode": _volume(secret={"secretName": "s", "defaultMode": 512}),
    "with parts of a secret": _volume(
        secret={"secretName": "s", "items": [{"key": "k", "path": "p", "mode": 256}]}
    ),
    "with bad parts of a secret": _volume(
        secret={"secretName": "s", "items": [{"key": "", "path": "../p", "mode": -1}]}
    ),
    "with absolute parts of a secret": _volume(
        secret={"secretName": "s", "items": [{"key": "k", "path": "/p"}]}
    ),
    "with a config map": _volume(configMap={"name": "c", "optional": True}),
    "with a config map without a name": _volume(configMap={}),
    "with a config map of a bad mode": _volume(configMap={"name": "c", "defaultMode": 1000}),
    "with a path of the host": _volume(hostPath={"path": "/x"}),
    "with a path of the host that goes up": _volume(hostPath={"path": "/x/../y"}),
    "with a path of the host of an unknown type": _volume(hostPath={"path": "/x", "type": "Odd"}),
    "with a path of the host that is empty": _volume(hostPath={"path": ""}),
    "with nfs": _volume(nfs={"server": "s", "path": "/p"}),
    "with nfs without anything": _volume(nfs={"server": "", "path": ""}),
    "with nfs on a relative path": _volume(nfs={"server": "s", "path": "p"}),
    "with iscsi": _volume(iscsi={"targetPortal": "p", "iqn": "iqn.2026-01.com.x:y", "lun": 0}),
    "with iscsi without anything": _volume(iscsi={"targetPortal": "", "iqn": "", "lun": -1}),
    "with fibre channel": _volume(fc={"wwids": ["w"]}),
    "with fibre channel without anything": _volume(fc={}),
    "with an inline CSI volume": _volume(csi={"driver": "csi.example.com"}),
    "with an inline CSI volume without a driver": _volume(csi={}),
    "with an inline CSI volume and its secret": _volume(
        csi={"driver": "csi.example.com", "nodePublishSecretRef": {"name": ""}}
    ),
    "with an ephemeral volume": _volume(ephemeral={"volumeClaimTemplate": _TEMPLATE}),
    "with an ephemeral volume without a template": _volume(ephemeral={}),
    "with an ephemeral volume of a bad template": _volume(
        ephemeral={"volumeClaimTemplate": {"spec": {"accessModes": []}}}
    ),
    "with an ephemeral volume of a named template": _volume(
        ephemeral={"volumeClaimTemplate": {"metadata": {"name": "x"}, **_TEMPLATE}}
    ),
    "with an ephemeral volume of a labelled template": _volume(
        ephemeral={"volumeClaimTemplate": {"metadata": {"labels": {"a": "b c"}}, **_TEMPLATE}}
    ),
    "with the claim of its own ephemeral volume": _spec(
        volumes=[
            {"name": "e", "ephemeral": {"volumeClaimTemplate": _TEMPLATE}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "$name-e"}},
        ]
    ),
    "with its own fields as files": _volume(
        downwardAPI={
            "items": [
                {"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}},
                {
                    "path": "c",
                    "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"},
                },
            ]
        }
    ),
    "with unknown fields as files": _volume(
        downwardAPI={
            "items": [
                {"path": "l", "fieldRef": {"fieldPath": "spec.odd"}},
                {"path": "", "fieldRef": {"fieldPath": "metadata.name"}},
                {"path": "x", "resourceFieldRef": {"containerName": "c", "resource": "limits.odd"}},
                {"path": "y"},
            ]
        }
    ),
    "with projections": _volume(
        projected={
            "sources": [
                {"secret": {"name": "s"}},
                {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
                {"serviceAccountToken": {"path": "t", "audience": "a"}},
                {
                    "downwardAPI": {
                        "items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]
                    }
                },
            ]
        }
    ),
    "with projections that collide": _volume(
        projected={
            "sources": [
                {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}},
                {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
            ]
        }
    ),
    "with a projection of two sources": _volume(
        projected={"sources": [{"secret": {"name": "s"}, "configMap": {"name": "c"}}]}
    ),
    "with projected tokens of bad lifetimes": _volume(
        projected={
            "sources": [
                {"serviceAccountToken": {"path": "t", "expirationSeconds": 1}},
                {"serviceAccountToken": {"path": "", "expirationSeconds": 4294967297}},
            ]
        }
    ),
    "with an image as a volume": _volume(image={"reference": "box", "pullPolicy": "Always"}),
    "with an image as a volume without a reference": _volume(image={}),
    "with a volume of a removed kind": _volume(gitRepo={"repository": "r"}),
    "with a flex volume": _volume(flexVolume={"driver": "a/b"}),
    "with a file share of azure": _volume(azureFile={"secretName": "s", "shareName": "h"}),
    "with a cephfs volume": _volume(cephfs={"monitors": []}),
    "with a gce disk": _volume(gcePersistentDisk={"pdName": "d"}),
}

_MOUNTS: dict[str, Doc] = {
    "with a mount": _mounted({"mountPath": "/data"}),
    "with a mount of no volume": _container(volumeMounts=[{"name": "zz", "mountPath": "/z"}]),
    "with a mount without a path": _mounted({}),
    "with a mount without a name": _mounted({"name": "", "mountPath": "/x"}),
    "with a path mounted twice": {
        "spec": {
            "volumes": [{"name": "data"}],
            "containers": [
                {
                    **MAIN,
                    "volumeMounts": [
                        {"name": "data", "mountPath": "/x"},
                        {"name": "data", "mountPath": "/x"},
                    ],
                }
            ],
        }
    },
    "with a part mounted": _mounted({"mountPath": "/x", "subPath": "a/b"}),
    "with a part outside mounted": _mounted({"mountPath": "/x", "subPath": "../b"}),
    "with an absolute part mounted": _mounted({"mountPath": "/x", "subPath": "/b"}),
    "with a part by an expression": _mounted({"mountPath": "/x", "subPathExpr": "$(A)/b"}),
    "with a part twice": _mounted({"mountPath": "/x", "subPath": "a", "subPathExpr": "b"}),
    "with a mount to both sides": _mounted(
        {"mountPath": "/x", "mountPropagation": "Bidirectional"}
    ),
    "with an unknown propagation": _mounted({"mountPath": "/x", "mountPropagation": "Sideways"}),
    "with a recursively read-only mount": _mounted(
        {"mountPath": "/x", "readOnly": True, "recursiveReadOnly": "Enabled"}
    ),
    "with a recursively read-only mount that is writable": _mounted(
        {"mountPath": "/x", "recursiveReadOnly": "Enabled"}
    ),
    "with an unknown read-only mount": _mounted(
        {"mountPath": "/x", "readOnly": True, "recursiveReadOnly": "Odd"}
    ),
    "with a device": _device({"devicePath": "/dev/x"}, **_CLAIMED),
    "with a device without a path": _device({"devicePath": ""}, **_CLAIMED),
    "with a device that goes up": _device({"devicePath": "/dev/../x"}, **_CLAIMED),
    "with a device of what is no block": _device({"devicePath": "/dev/x"}),
    "with a device and a mount of one volume": {
        "spec": {
            "volumes": [{"name": "data", **_CLAIMED}],
            "containers": [
                {
                    **MAIN,
                    "volumeMounts": [{"name": "data", "mountPath": "/x"}],
                    "volumeDevices": [{"name": "data", "devicePath": "/dev/x"}],
                }
            ],
        }
    },
}


CASES: Cases = creates("pod", {**_VOLUMES, **_MOUNTS})
