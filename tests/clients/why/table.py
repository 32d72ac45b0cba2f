"""The situations themselves."""

from tests.clients.why.refused import REFUSED
from tests.clients.why.situations import (
    CSI_DRIVER,
    DRIVER,
    HOST_PATH,
    Situation,
    after,
    attached,
    bound,
    bound_to,
    claim,
    claim_status,
    csi_node,
    csi_volume,
    deleted,
    event,
    made,
    node,
    on_nodes,
    pod,
    pod_status,
    snapshot,
    snapshot_class,
    storage_class,
    until,
    volume,
    volume_forgotten,
)
from tests.clients.why.stage import Doc, Stage
from tests.clients.why.workloads import WORKLOADS

CLAIM, POD = "PersistentVolumeClaim", "Pod"
WAITS = "WaitForFirstConsumer"
HOSTNAME = "kubernetes.io/hostname"
FOR_DATA = {"namespace": "$NS", "name": "data"}
ASKS_5: Doc = {"resources": {"requests": {"storage": "5Gi"}}}
SMALL = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
GROWS = storage_class(provisioner=DRIVER, allowVolumeExpansion=True)
OF_GROWS = {"storageClassName": "fast-$NS"}
INFEASIBLE = {
    **SMALL,
    "allocatedResources": {"storage": "5Gi"},
    "allocatedResourceStatuses": {"storage": "ControllerResizeInfeasible"},
    "conditions": [
        {"type": "ControllerResizeError", "status": "True", "message": "the pool is full"}
    ],
}
GROWN = {
    "capacity": {"storage": "1025Mi"},
    "allocatedResourceStatuses": None,
    "conditions": None,
}
EPHEMERAL = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}]
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "few"},
    "spec": {"hard": {"persistentvolumeclaims": "0"}},
    "status": {
        "hard": {"persistentvolumeclaims": "0"},
        "used": {"persistentvolumeclaims": "0"},
    },
}
HANGS = (
    'MountVolume.SetUp failed for volume "disk" : rpc error: code = DeadlineExceeded desc = '
    "context deadline exceeded"
)
NO_ROOM = 'failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted'
NODES = (node("n1-$NS"), node("n2-$NS"), csi_node("n1-$NS"), csi_node("n2-$NS"))
HERE = {"nodeName": "n1-$NS"}
HAS_IMAGE = node("n1-$NS")
HAS_IMAGE["status"]["images"] = [{"names": ["example.org/shop:v1"], "sizeBytes": 1}]
THERE = {"nodeName": "n2-$NS"}


def _released(stage: Stage) -> None:
    bound_to("old")(stage)
    deleted(CLAIM, "old")(stage)
    name = f"disk-{stage.namespace}"
    until(stage, "PersistentVolume", name, lambda it: it["status"]["phase"] == "Released")


NEWCOMERS = {
    "class missing": Situation(
        "pvc/data",
        "there is no such StorageClass",
        "of class fast",
        (storage_class(), claim(storageClassName="fst-$NS")),
    ),
    "provisioner mistyped": Situation(
        "pvc/data",
        'No CSI driver or plugin "disc.$NS.example" is registered',
        "with the provisioner disk.$NS.example",
        (
            CSI_DRIVER,
            storage_class(provisioner="disc.$NS.example"),
            claim(storageClassName="fast-$NS"),
        ),
    ),
    "first consumer unschedulable": Situation(
        "pvc/data",
        "untolerated taint",
        "removes the taint dedicated",
        (
            storage_class(volumeBindingMode=WAITS),
            node(taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]),
            claim(storageClassName="fast-$NS"),
            pod(),
        ),
    ),
    "too large by hand": Situation(
        "pvc/data",
        "no persistent volume is large enough",
        "for 1Gi",
        (volume(), claim(**ASKS_5)),
    ),
    "too large by CSI": Situation(
        "pvc/data",
        "ResourceExhausted",
        "for 2560Mi",
        (
            CSI_DRIVER,
            *(node(), csi_node("n1-$NS")),
            storage_class(provisioner=DRIVER),
            claim(storageClassName="fast-$NS", **ASKS_5),
        ),
        begin=event(CLAIM, "data", "ProvisioningFailed", NO_ROOM, DRIVER),
    ),
    "volume elsewhere": Situation(
        "pod/web",
        "didn't match PersistentVolume's node affinity",
        "without asking for node n2",
        (
            *(node("n1-$NS"), node("n2-$NS")),
            volume(nodeAffinity=on_nodes(HOSTNAME, "n1-$NS"), claimRef=FOR_DATA),
            claim(),
            pod(nodeSelector={HOSTNAME: "n2-$NS"}),
        ),
        begin=bound,
    ),
    "terminating while in use": Situation(
        "pvc/data",
        "pod web still use it",
        "deletes the pods",
        (node(), volume(claimRef=FOR_DATA), claim(), pod(**HERE)),
        begin=after(bound, deleted(CLAIM, "data")),
    ),
    "node gone": Situation(
        "pod/web",
        "there is no such Node",
        "removes the pod",
        (volume(claimRef=FOR_DATA), claim(), pod(nodeName="gone-$NS")),
        begin=bound,
    ),
    "multi-attach": Situation(
        "pod/other",
        "Waiting for detach for volume",
        "deletes the pod that uses the volume on n1-$NS",
        (*NODES, CSI_DRIVER, csi_volume(), claim(), pod(**HERE)),
        begin=after(bound, attached({"attached": True}), made(pod("other", **THERE))),
    ),
    "snapshot not ready": Situation(
        "volumesnapshot/snap",
        '"nightly-$NS" not found',
        "of class nightly-ssd-$NS",
        (
            CSI_DRIVER,
            csi_volume(),
            claim(),
            snapshot_class("nightly-ssd-$NS"),
            snapshot(volumeSnapshotClassName="nightly-$NS"),
        ),
        begin=bound,
        needs_snapshots=True,
    ),
    "growth infeasible": Situation(
        "pvc/data",
        "the pool is full",
        "gives up 5Gi",
        (GROWS, CSI_DRIVER, csi_volume(**OF_GROWS), claim(**OF_GROWS)),
        begin=after(bound, claim_status(INFEASIBLE, **ASKS_5)),
        end=claim_status(GROWN),
    ),
    "driver hangs in NodePublish": Situation(
        "pod/web",
        "a call has not been answered in time",
        "give the volume up",
        (*NODES, CSI_DRIVER, csi_volume(), claim(), pod(**HERE)),
        begin=after(
            bound,
            attached({"attached": True}),
            event(POD, "web", "FailedMount", HANGS, "kubelet"),
        ),
    ),
    "image mistyped": Situation(
        "pod/web",
        "ImagePullBackOff",
        "takes example.org/shop:v1, which the node has",
        (HAS_IMAGE, pod(uses="", container={"image": "example.org/shpo:v1"}, **HERE)),
        begin=pod_status("waiting", {"reason": "ImagePullBackOff"}),
        end=pod_status("running", {}),
    ),
    "quota": Situation(
        "pod/web",
        "exceeded quota: few",
        "raises quota few",
        (QUOTA, node(), volume(), pod(uses="", volumes=EPHEMERAL)),
    ),
}

MORE = {
    "volume asked for is missing": Situation(
        "pvc/data",
        "there is no such PersistentVolume",
        "for any volume that fits",
        (volume(), claim(volumeName="dsk-$NS")),
        is_quick=False,
    ),
    "volume asked for is taken": Situation(
        "pvc/data",
        "already bound to a different claim",
        "for any volume that fits",
        (
            volume(claimRef={"namespace": "$NS", "name": "other"}),
            claim("other"),
        ),
        begin=after(
            bound_to("other"), made(volume("spare-$NS")), made(claim(volumeName="disk-$NS"))
        ),
        is_quick=False,
    ),
    "volume asked for is too small": Situation(
        "pvc/data",
        "requested PV is too small",
        "for 1Gi",
        (volume(), claim(volumeName="disk-$NS", **ASKS_5)),
        is_quick=False,
    ),
    "volume asked for is of another class": Situation(
        "pvc/data",
        "storageClassName does not match",
        "the class of the claim",
        (volume(storageClassName="slow-$NS"), claim(volumeName="disk-$NS")),
    ),
    "volume asked for is a block device": Situation(
        "pvc/data",
        "incompatible volumeMode",
        "as Block",
        (volume(volumeMode="Block"), claim(volumeName="disk-$NS")),
        is_quick=False,
    ),
    "volume asked for is for one node": Situation(
        "pvc/data",
        "incompatible accessMode",
        "for ReadWriteOnce",
        (volume(), claim(volumeName="disk-$NS", accessModes=["ReadWriteMany"])),
        is_quick=False,
    ),
    "only volume is for one node": Situation(
        "pvc/data",
        "no persistent volumes available",
        "for ReadWriteOnce",
        (volume(), claim(accessModes=["ReadWriteMany"])),
        is_quick=False,
    ),
    "only volume is a block device": Situation(
        "pvc/data",
        "no persistent volumes available",
        "as Block",
        (volume(volumeMode="Block"), claim()),
        is_quick=False,
    ),
    "selector fits no volume": Situation(
        "pvc/data",
        "no persistent volumes available",
        "the labels that the claim selects",
        (volume(), claim(selector={"matchLabels": {"app": "shop"}})),
    ),
    "no volume at all": Situation(
        "pvc/data",
        "no persistent volumes available",
        "makes a volume by hand",
        (claim(accessModes=["ReadWriteMany"]),),
    ),
    "no default class": Situation(
        "pvc/data",
        "no persistent volumes available",
        "the default class",
        (storage_class("solid-$NS"), claim(storageClassName=None)),
    ),
    "volume released, claim waits": Situation(
        "pvc/data",
        "no persistent volumes available",
        "Available again",
        (volume(claimRef={"namespace": "$NS", "name": "old"}), claim("old"), claim()),
        begin=_released,
    ),
    "volume released": Situation(
        "pv/disk-$NS",
        "it stays until somebody decides",
        "Available for another claim",
        (volume(claimRef={"namespace": "$NS", "name": "old"}), claim("old")),
        begin=_released,
    ),
    "volume reserved for nobody": Situation(
        "pv/disk-$NS",
        "which does not exist",
        "Available for another claim",
        (volume(claimRef={"namespace": "$NS", "name": "never"}),),
    ),
    "volume deleted while bound": Situation(
        "pv/disk-$NS",
        "must be deleted first",
        "deletes the claim",
        (volume(claimRef=FOR_DATA), claim()),
        begin=after(bound, deleted("PersistentVolume", "disk-$NS")),
    ),
    "volume lost": Situation(
        "pvc/data",
        "the data is lost",
        "what was on the old one is lost",
        (volume(claimRef=FOR_DATA), claim()),
        begin=after(bound, made(volume("spare-$NS")), volume_forgotten),
        is_quick=False,
    ),
    "finalizer of a stranger": Situation(
        "pvc/data",
        "the finalizer backup.example/hold holds it",
        "removes the finalizer",
        ({**claim(), "metadata": {"name": "data", "finalizers": ["backup.example/hold"]}},),
        begin=deleted(CLAIM, "data"),
    ),
    "claim missing": Situation(
        "pod/web", "there is no such claim", "makes the claim", (node(), volume(), pod())
    ),
    "nobody uses it yet": Situation(
        "pvc/data",
        "waiting for first consumer",
        "starts a pod",
        (node(), storage_class(volumeBindingMode=WAITS), claim(storageClassName="fast-$NS")),
    ),
    "node cordoned": Situation(
        "pod/web",
        "were unschedulable",
        "be scheduled on node",
        (node(unschedulable=True), pod(uses="")),
    ),
    "node selector fits no node": Situation(
        "pod/web",
        "didn't match Pod's node affinity/selector",
        "the labels that the pod selects",
        (node(), pod(uses="", nodeSelector={"disk": "ssd"})),
    ),
    "too much CPU asked for": Situation(
        "pod/web",
        "Insufficient cpu",
        "asking for no more than half",
        (node(), pod(uses="", container={"resources": {"requests": {"cpu": "64"}}})),
    ),
    "scheduling gate": Situation(
        "pod/web",
        "keep it from being scheduled",
        "removes the gates",
        (node(), pod(uses="", schedulingGates=[{"name": "example.com/wait"}])),
    ),
    "volume in another zone": Situation(
        "pod/web",
        "didn't match PersistentVolume's node affinity",
        "only if it does",
        (
            node(),
            volume(nodeAffinity=on_nodes("topology.example/zone", "z1"), claimRef=FOR_DATA),
            claim(),
            pod(),
        ),
        begin=bound,
    ),
    "attach refused": Situation(
        "pod/web",
        "the disk is busy",
        "gives up this attempt",
        (*NODES, CSI_DRIVER, csi_volume(), claim(), pod(**HERE)),
        begin=after(
            bound, attached({"attached": False, "attachError": {"message": "the disk is busy"}})
        ),
    ),
    "node not ready": Situation(
        "pod/web",
        "is not ready",
        "the machine is off",
        (node(ready="False"), volume(claimRef=FOR_DATA), claim(), pod(**HERE, tolerations=[])),
        begin=bound,
    ),
    "class with a mistyped provisioner": Situation(
        "storageclass/fast-$NS",
        'No CSI driver or plugin "disc.$NS.example" is registered',
        "with the provisioner disk.$NS.example",
        (CSI_DRIVER, storage_class(provisioner="disc.$NS.example")),
    ),
    "two default classes": Situation(
        "storageclass/fast-$NS",
        "2 classes are the default",
        "a default class no more",
        (
            storage_class(annotations={"storageclass.kubernetes.io/is-default-class": "true"}),
            storage_class(
                "slow-$NS",
                HOST_PATH,
                annotations={"storageclass.kubernetes.io/is-default-class": "true"},
            ),
        ),
    ),
    "no default snapshot class": Situation(
        "volumesnapshot/snap",
        "cannot find default snapshot class",
        "the default class of driver",
        (CSI_DRIVER, csi_volume(), claim(), snapshot_class("nightly-$NS"), snapshot()),
        begin=bound,
        needs_snapshots=True,
    ),
    "two default snapshot classes": Situation(
        "volumesnapshot/snap",
        "2 default snapshot classes were found",
        "leaves one default class",
        (
            *(CSI_DRIVER, csi_volume(), claim()),
            snapshot_class("a-$NS", default=True),
            snapshot_class("b-$NS", default=True),
            snapshot(),
        ),
        begin=bound,
        needs_snapshots=True,
    ),
    "snapshot class of another driver": Situation(
        "volumesnapshot/snap",
        "mismatch with VolumeSnapshotClass",
        "of class nightly-$NS",
        (
            *(CSI_DRIVER, csi_volume(), claim()),
            snapshot_class("other-$NS", "other.example"),
            snapshot_class("nightly-$NS"),
            snapshot(volumeSnapshotClassName="other-$NS"),
        ),
        begin=bound,
        needs_snapshots=True,
    ),
    "snapshot of no claim": Situation(
        "volumesnapshot/snap",
        '"data" not found',
        "gives the snapshot up",
        (snapshot_class("nightly-$NS"), snapshot(volumeSnapshotClassName="nightly-$NS")),
        needs_snapshots=True,
    ),
}

SITUATIONS = NEWCOMERS | MORE | REFUSED | WORKLOADS
