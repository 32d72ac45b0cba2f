"""PersistentVolumes: defaults, sources, validation, what may change, status."""

from tests.conformance.asking import Again, Cases, Doc, get, post, put
from tests.conformance.cases.objects import VOLUME, VOLUMES, creates, named, updates

ONE = named(VOLUMES, VOLUME)


def _spec(**fields: object) -> Doc:
    return {"spec": fields}


def _source(name: str, **fields: object) -> Doc:
    return {"spec": {"csi": None, name: fields}}


def _affinity(*expressions: Doc) -> Doc:
    terms = [{"matchExpressions": list(expressions)}]
    return _spec(nodeAffinity={"required": {"nodeSelectorTerms": terms}})


_HERE = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}

_CREATED: dict[str, Doc] = {
    "without access modes": _spec(accessModes=None),
    "with an unknown access mode": _spec(accessModes=["Sometimes"]),
    "with ReadWriteOncePod and another": _spec(accessModes=["ReadWriteOncePod", "ReadOnlyMany"]),
    "without capacity": _spec(capacity=None),
    "with capacity of something else": _spec(capacity={"storage": None, "cpu": "1"}),
    "with capacity of two things": _spec(capacity={"cpu": "1"}),
    "with no capacity to speak of": _spec(capacity={"storage": "0"}),
    "with a negative capacity": _spec(capacity={"storage": "-5"}),
    "with an odd capacity": _spec(capacity={"storage": "1.5Gi"}),
    "with an unknown policy": _spec(persistentVolumeReclaimPolicy="Burn"),
    "to be recycled": _spec(persistentVolumeReclaimPolicy="Recycle"),
    "without a source": _spec(csi=None),
    "with two sources": _spec(nfs={"server": "s", "path": "/p"}),
    "with a bad class": _spec(storageClassName="Bad_Class"),
    "with an unknown mode": _spec(volumeMode="Tape"),
    "for blocks": _spec(volumeMode="Block"),
    "with mount options": _spec(mountOptions=["ro", ""]),
    "with an attributes class": _spec(volumeAttributesClassName="gold"),
    "with an empty attributes class": _spec(volumeAttributesClassName=""),
    "reserved for a claim": _spec(claimRef={"namespace": "default", "name": "c"}),
    "with a class in the old annotation": {
        "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
    },
    "with a status of its own": {"status": {"phase": "Bound", "message": "m"}},
    "without a driver": _spec(csi={"driver": None}),
    "with a bad driver": _spec(csi={"driver": "bad_driver!"}),
    "with a driver in capitals": _spec(csi={"driver": "CSI.Example.com"}),
    "with a long driver": _spec(csi={"driver": "d" * 64}),
    "without a handle": _spec(csi={"volumeHandle": None}),
    "with half a secret": _spec(csi={"nodePublishSecretRef": {"name": "s"}}),
    "with half a publishing secret": _spec(csi={"controllerPublishSecretRef": {"namespace": "n"}}),
    "with half an expanding secret": _spec(csi={"controllerExpandSecretRef": {}}),
    "with half an expanding secret of nodes": _spec(csi={"nodeExpandSecretRef": {"name": "s"}}),
    "with half a staging secret": _spec(csi={"nodeStageSecretRef": {"name": "s"}}),
    "on a host path": _source("hostPath", path="/data"),
    "on a host path that goes up": _source("hostPath", path="/data/../etc"),
    "on a host path of no length": _source("hostPath", path=""),
    "on a host path of an unknown type": _source("hostPath", path="/d", type="Soup"),
    "on a host path, made when missing": _source("hostPath", path="/d", type="DirectoryOrCreate"),
    "on the host's root, to be recycled": {
        "spec": {
            "csi": None,
            "hostPath": {"path": "/"},
            "persistentVolumeReclaimPolicy": "Recycle",
        }
    },
    "on nfs": _source("nfs", server="s", path="/p", readOnly=True),
    "on nfs without a server": _source("nfs", path="p"),
    "local without affinity": _source("local", path="/mnt/disk"),
    "local going up": {
        "spec": {**_source("local", path="../x")["spec"], **_affinity(_HERE)["spec"]}
    },
    "local": {"spec": {**_source("local", path="/mnt")["spec"], **_affinity(_HERE)["spec"]}},
    "local without a path": {"spec": {**_source("local")["spec"], **_affinity(_HERE)["spec"]}},
    "on iscsi": _source("iscsi", targetPortal="10.0.0.1", iqn="iqn.2026-01.example:x", lun=1),
    "on iscsi with a bad name": _source("iscsi", targetPortal="p", iqn="nonsense", lun=1),
    "on iscsi with a bad lun": _source(
        "iscsi", targetPortal="p", iqn="eui.02004567A425678D", lun=256
    ),
    "on iscsi with sessions": _source(
        "iscsi", iqn="naa.5000c50015ea71aa", lun=0, chapAuthSession=True, initiatorName="x"
    ),
    "on fibre channel": _source("fc", targetWWNs=["500a0982991b8dc5"], lun=2),
    "on fibre channel without a target": _source("fc", lun=2),
    "on fibre channel with both": _source("fc", targetWWNs=["a"], lun=1, wwids=["w"]),
    "on a flex volume": _source("flexVolume", driver="a/b"),
    "on a flex volume without a driver": _source("flexVolume"),
    "on rbd": _source("rbd", monitors=["m"], image="i"),
    "on rbd without anything": _source("rbd"),
    "on cephfs": _source("cephfs", monitors=["m"]),
    "on cephfs without monitors": _source("cephfs"),
    "on glusterfs": _source("glusterfs", endpoints="e", path="p"),
    "on glusterfs without anything": _source("glusterfs"),
    "on cinder": _source("cinder", volumeID="v"),
    "on cinder without an id": _source("cinder"),
    "on a file share of azure": _source("azureFile", secretName="s", shareName="h"),
    "on a file share of azure without anything": _source("azureFile"),
    "on a disk of azure": _source("azureDisk", diskName="d", diskURI="/subscriptions/x"),
    "on a disk of azure with odd words": _source(
        "azureDisk", diskName="d", diskURI="x", kind="Odd", cachingMode="Odd"
    ),
    "on a disk of gce": _source("gcePersistentDisk", pdName="d"),
    "on a disk of gce with a bad partition": _source("gcePersistentDisk", pdName="", partition=300),
    "on a disk of aws": _source("awsElasticBlockStore", volumeID="v", partition=-1),
    "on vsphere": _source("vsphereVolume", volumePath="p"),
    "on vsphere without a path": _source("vsphereVolume"),
    "on portworx": _source("portworxVolume", volumeID="v"),
    "on portworx without an id": _source("portworxVolume"),
    "on scaleIO": _source(
        "scaleIO", gateway="g", system="s", volumeName="v", secretRef={"name": "x"}
    ),
    "on scaleIO without anything": _source("scaleIO"),
    "on storageos": _source("storageos", volumeName="v"),
    "on storageos without a name": _source("storageos"),
    "on quobyte": _source("quobyte", registry="r:1", volume="v"),
    "on quobyte with a bad registry": _source("quobyte", registry="r", volume=""),
    "on flocker": _source("flocker", datasetName="d"),
    "on flocker with both": _source("flocker", datasetName="d/e", datasetUUID="u"),
    "on photon": _source("photonPersistentDisk", pdID="p"),
    "on photon without an id": _source("photonPersistentDisk"),
    "near a node": _affinity(_HERE),
    "near nodes without a term": _spec(nodeAffinity={"required": {"nodeSelectorTerms": []}}),
    "near nodes of no requirement": _spec(nodeAffinity={}),
    "near nodes by an unknown operator": _affinity({"key": "a", "operator": "Near"}),
    "near nodes In nothing": _affinity({"key": "a", "operator": "In"}),
    "near nodes where it Exists with a value": _affinity(
        {"key": "a", "operator": "Exists", "values": ["v"]}
    ),
    "near nodes Gt a word": _affinity({"key": "a", "operator": "Gt", "values": ["five"]}),
    "near nodes Gt two numbers": _affinity({"key": "a", "operator": "Gt", "values": ["1", "2"]}),
    "near nodes by a bad key": _affinity({"key": "-a-", "operator": "Exists"}),
    "near nodes by a field": _spec(
        nodeAffinity={
            "required": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
                ]
            }
        }
    ),
    "near nodes by an unknown field": _spec(
        nodeAffinity={
            "required": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["n1", "n2"]}]}
                ]
            }
        }
    ),
}

_UPDATED: dict[str, Doc] = {
    "to another handle": _spec(csi={"volumeHandle": "h2"}),
    "with an expanding secret": _spec(
        csi={"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}
    ),
    "to another source": _source("hostPath", path="/data"),
    "to more": _spec(capacity={"storage": "2Gi"}),
    "to less": _spec(capacity={"storage": "1Mi"}),
    "to other modes": _spec(accessModes=["ReadOnlyMany"]),
    "to another policy": _spec(persistentVolumeReclaimPolicy="Delete"),
    "to another class": _spec(storageClassName="fast"),
    "to a claim": _spec(claimRef={"namespace": "default", "name": "c", "uid": "u"}),
    "to blocks": _spec(volumeMode="Block"),
    "with affinity": _affinity(_HERE),
    "with an attributes class": _spec(volumeAttributesClassName="gold"),
    "with mount options": _spec(mountOptions=["noatime"]),
    "with a status, which is ignored": {"status": {"phase": "Bound"}},
}

_STATUS: dict[str, Doc] = {
    "of a phase": {"status": {"phase": "Available"}},
    "of an unknown phase": {"status": {"phase": "Odd"}},
    "with words": {"status": {"phase": "Failed", "message": "m", "reason": "r"}},
    "with a label and another spec": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"storageClassName": "other"},
    },
    "with a time of its own": {
        "status": {"phase": "Bound", "lastPhaseTransitionTime": "2001-01-01T00:00:00Z"}
    },
}

CASES: Cases = {
    **creates("volume", _CREATED),
    **updates("volume", {}, _UPDATED),
    **updates(
        "volume", _affinity(_HERE), {"to other nodes": _affinity({**_HERE, "values": ["n2"]})}
    ),
    **updates(
        "volume",
        _spec(volumeAttributesClassName="gold"),
        {"without its attributes class": _spec(volumeAttributesClassName=None)},
    ),
    **{
        f"volume given a status {words}": (
            post(VOLUMES, VOLUME),
            put(f"{ONE}/status", Again(0, change)),
            get(ONE),
        )
        for words, change in _STATUS.items()
    },
}
