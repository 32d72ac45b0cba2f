"""The kinds of storage.k8s.io: defaults, validation, what may change, status."""

from tests.conformance.asking import Again, Cases, Doc, get, merge, post, put
from tests.conformance.cases.objects import (
    ATTACHMENT,
    ATTACHMENTS,
    CSI_NODE,
    CSI_NODES,
    creates,
    named,
    updates,
)


def _spec(**fields: object) -> Doc:
    return {"spec": fields}


def _topology(*values: str) -> Doc:
    return {
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": list(values)}]}]
    }


_CLASSES = creates(
    "storage class",
    {
        "without a provisioner": {"provisioner": None},
        "with a bad provisioner": {"provisioner": "bad provisioner"},
        "with a provisioner in capitals": {"provisioner": "Example.com/CSI"},
        "to recycle": {"reclaimPolicy": "Recycle"},
        "to retain": {"reclaimPolicy": "Retain"},
        "with an unknown binding mode": {"volumeBindingMode": "Later"},
        "waiting for a consumer": {"volumeBindingMode": "WaitForFirstConsumer"},
        "with everything": {
            "parameters": {"a": "b"},
            "mountOptions": ["ro"],
            "allowVolumeExpansion": True,
            **_topology("z1", "z2"),
        },
        "with a parameter without a name": {"parameters": {"": "x"}},
        "with too many parameters": {"parameters": {f"k{i}": "" for i in range(513)}},
        "with parameters too large": {"parameters": {"k": "v" * 262144}},
        "with the same zone twice": _topology("z1", "z1"),
        "with a topology without values": _topology(),
        "with a topology without a key": {
            "allowedTopologies": [{"matchLabelExpressions": [{"key": "", "values": ["z"]}]}]
        },
        "with a key twice in a topology": {
            "allowedTopologies": [
                {
                    "matchLabelExpressions": [
                        {"key": "zone", "values": ["z"]},
                        {"key": "zone", "values": ["y"]},
                    ]
                }
            ]
        },
        "with equal topologies": {
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "zone", "values": ["z"]}]},
                {"matchLabelExpressions": [{"key": "zone", "values": ["z"]}]},
            ]
        },
        "with an empty topology": {"allowedTopologies": [{}]},
    },
)
_CLASSES_UPDATED = updates(
    "storage class",
    {"parameters": {"a": "b"}, "reclaimPolicy": "Delete"},
    {
        "to another provisioner": {"provisioner": "other.example.com"},
        "to other parameters": {"parameters": {"a": "c"}},
        "to another policy": {"reclaimPolicy": "Retain"},
        "to another binding mode": {"volumeBindingMode": "WaitForFirstConsumer"},
        "to expand": {"allowVolumeExpansion": True},
        "with mount options and zones": {"mountOptions": ["ro"], **_topology("z1")},
    },
)
_ATTRIBUTES = {
    **creates(
        "attributes class",
        {
            "without a driver": {"driverName": None},
            "with a bad driver": {"driverName": "Bad!"},
            "without parameters": {"parameters": None},
            "with empty parameters": {"parameters": {"iops": None}},
            "with a parameter without a name": {"parameters": {"": "x"}},
        },
    ),
    **updates(
        "attributes class",
        {},
        {
            "to another driver": {"driverName": "other.example.com"},
            "to other parameters": {"parameters": {"iops": "200"}},
            "with a label": {"metadata": {"labels": {"a": "b"}}},
        },
    ),
}
_INLINE = {
    "accessModes": ["ReadWriteOnce"],
    "csi": {"driver": "csi.example.com", "volumeHandle": "h"},
}


def _from(inline: Doc) -> Doc:
    return _spec(source={"persistentVolumeName": None, "inlineVolumeSpec": inline})


_ATTACHMENTS = {
    **creates(
        "attachment",
        {
            "without an attacher": _spec(attacher=None),
            "with a bad attacher": _spec(attacher="bad!"),
            "without a node": _spec(nodeName=None),
            "with a bad node": _spec(nodeName="Bad_Node"),
            "without a source": _spec(source={"persistentVolumeName": None}),
            "without any spec": {"spec": None},
            "with an empty volume name": _spec(source={"persistentVolumeName": ""}),
            "with a bad volume name": _spec(source={"persistentVolumeName": "Bad_Name"}),
            "with two sources": _spec(source={"inlineVolumeSpec": _INLINE}),
            "of an inline volume": _from(_INLINE),
            "of an inline volume that is not of CSI": _from(
                {"accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
            ),
            "of an inline volume with a capacity": _from(
                {**_INLINE, "capacity": {"storage": "1Gi"}, "storageClassName": "x"}
            ),
            "of an inline volume without modes": _from({"csi": _INLINE["csi"]}),
            "of an inline volume with a policy": _from(
                {**_INLINE, "persistentVolumeReclaimPolicy": "Delete", "claimRef": {"name": "c"}}
            ),
            "with a status of its own": {"status": {"attached": True}},
        },
    ),
    **updates(
        "attachment",
        {},
        {
            "to another node": _spec(nodeName="n2"),
            "to another volume": _spec(source={"persistentVolumeName": "v2"}),
            "with a label": {"metadata": {"labels": {"a": "b"}}},
            "with a status, which is ignored": {"status": {"attached": True}},
        },
    ),
}
_ATTACHED: dict[str, Doc] = {
    "attached": {"status": {"attached": True, "attachmentMetadata": {"path": "/dev/x"}}},
    "with errors": {
        "status": {
            "attachError": {"time": "2001-01-01T00:00:00Z", "message": "no"},
            "detachError": {"message": "never", "errorCode": 5},
        }
    },
    "with too long an error": {"status": {"attachError": {"message": "x" * 1025}}},
    "with too much metadata": {"status": {"attachmentMetadata": {"k": "v" * 262144}}},
    "with a label and another spec": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"nodeName": "n2"},
        "status": {"attached": True},
    },
    "of the wrong type": {"status": {"attached": "yes"}},
}
_DRIVERS = {
    **creates(
        "driver",
        {
            "with everything off": _spec(
                attachRequired=False,
                podInfoOnMount=True,
                storageCapacity=True,
                requiresRepublish=True,
                seLinuxMount=True,
            ),
            "without a spec": {"spec": None},
            "with a name in capitals": {"metadata": {"name": "Bad.Driver"}},
            "with a long name": {"metadata": {"name": "d" * 64}},
            "with an unknown policy of groups": _spec(fsGroupPolicy="Some"),
            "with a policy of groups": _spec(fsGroupPolicy="File"),
            "with an unknown lifecycle": _spec(volumeLifecycleModes=["Eternal"]),
            "with two lifecycles": _spec(volumeLifecycleModes=["Persistent", "Ephemeral"]),
            "with no lifecycles": _spec(volumeLifecycleModes=[]),
            "with tokens": _spec(tokenRequests=[{"audience": "a", "expirationSeconds": 600}]),
            "with a token twice": _spec(tokenRequests=[{"audience": "a"}, {"audience": "a"}]),
            "with a short token": _spec(tokenRequests=[{"audience": "a", "expirationSeconds": 5}]),
            "with an endless token": _spec(
                tokenRequests=[{"audience": "a", "expirationSeconds": 4294967297}]
            ),
            "with an update period": _spec(nodeAllocatableUpdatePeriodSeconds=10),
            "with too short an update period": _spec(nodeAllocatableUpdatePeriodSeconds=5),
            "with tokens in secrets": _spec(
                serviceAccountTokenInSecrets=True, tokenRequests=[{"audience": ""}]
            ),
            "with secrets without tokens": _spec(serviceAccountTokenInSecrets=True),
        },
    ),
    **updates(
        "driver",
        {},
        {
            "not to attach": _spec(attachRequired=False),
            "to inform of pods": _spec(podInfoOnMount=True),
            "to track capacity": _spec(storageCapacity=True),
            "to another policy of groups": _spec(fsGroupPolicy="None"),
            "to other lifecycles": _spec(volumeLifecycleModes=["Ephemeral"]),
            "to tokens": _spec(tokenRequests=[{"audience": "a"}]),
            "to republish": _spec(requiresRepublish=True),
            "to mount with labels": _spec(seLinuxMount=True),
            "with a label": {"metadata": {"labels": {"a": "b"}}},
        },
    ),
}


def _drivers(*drivers: Doc) -> Doc:
    return _spec(drivers=list(drivers))


_X = {"name": "csi.example.com", "nodeID": "id-1", "topologyKeys": ["zone"]}
_CSI_NODES = {
    **creates(
        "CSI node",
        {
            "without drivers": _drivers(),
            "without a spec": {"spec": None},
            "with a nameless driver": _drivers({"nodeID": "x"}),
            "with a driver twice": _drivers(_X, _X),
            "with a driver without an id": _drivers({"name": "a.b"}),
            "with a driver of a long id": _drivers({"name": "a.b", "nodeID": "x" * 257}),
            "with a bad driver": _drivers({"name": "bad_name", "nodeID": "x"}),
            "with bad topology keys": _drivers({**_X, "topologyKeys": ["", "a b", "a", "a"]}),
            "with room": _drivers({**_X, "allocatable": {"count": 5}}),
            "with negative room": _drivers({**_X, "allocatable": {"count": -1}}),
            "with room of any size": _drivers({**_X, "allocatable": {}}),
        },
    ),
    **updates(
        "CSI node",
        {},
        {
            "with another driver": _drivers(_X, {**_X, "name": "b.example.com"}),
            "without its driver": _drivers(),
            "to another id of its driver": _drivers({**_X, "nodeID": "id-2"}),
            "to other topology keys": _drivers({**_X, "topologyKeys": ["region"]}),
            "to room": _drivers({**_X, "allocatable": {"count": 5}}),
        },
    ),
}
_CAPACITIES = {
    **creates(
        "storage capacity",
        {
            "without a class": {"storageClassName": None},
            "with a bad class": {"storageClassName": "Bad_Class"},
            "with capacity": {"capacity": "10Gi", "maximumVolumeSize": "1Gi"},
            "with negative capacity": {"capacity": "-1", "maximumVolumeSize": "-1"},
            "with a topology": {"nodeTopology": {"matchLabels": {"zone": "z1"}}},
            "with a bad topology": {"nodeTopology": {"matchLabels": {"zone": "z 1"}}},
            "with a bad expression": {
                "nodeTopology": {"matchExpressions": [{"key": "a", "operator": "Odd"}]}
            },
        },
    ),
    **updates(
        "storage capacity",
        {"capacity": "1Gi", "nodeTopology": {"matchLabels": {"zone": "z1"}}},
        {
            "to another class": {"storageClassName": "slow"},
            "to another topology": {"nodeTopology": {"matchLabels": {"zone": "z2"}}},
            "to another capacity": {"capacity": "2Gi", "maximumVolumeSize": "1Gi"},
            "without a version": {"metadata": {"resourceVersion": None}},
        },
    ),
}
_ONE = named(ATTACHMENTS, ATTACHMENT)

CASES: Cases = {
    **_CLASSES,
    **_CLASSES_UPDATED,
    **_ATTRIBUTES,
    **_ATTACHMENTS,
    **{
        f"attachment given a status {words}": (
            post(ATTACHMENTS, ATTACHMENT),
            put(f"{_ONE}/status", Again(0, change)),
            merge(f"{_ONE}/status", change),
            get(_ONE),
        )
        for words, change in _ATTACHED.items()
    },
    **_DRIVERS,
    **_CSI_NODES,
    "CSI node keeps its drivers apart by name": (
        post(CSI_NODES, CSI_NODE),
        merge(named(CSI_NODES, CSI_NODE), _drivers()),
        merge(named(CSI_NODES, CSI_NODE), {"spec": {"drivers": None}}),
    ),
    **_CAPACITIES,
}
