"""Situations in which newcomers are stuck: each is made, explained, and healed by a command.

`$NS` in a text is the namespace of the situation, so that names of cluster objects are its own.
What no controller of a cluster without nodes does is played: events and statuses as a kubelet, a
provisioner, an attacher or a resizer writes them.
"""

import json
from collections.abc import Callable
from typing import Any

import msgspec

from tests.clients.why.stage import Doc, Stage

Play = Callable[[Stage], None]


def nothing(stage: Stage) -> None:
    """Nobody else has to act."""


class Situation(msgspec.Struct, frozen=True):
    subject: str  # what is asked about
    cause: str  # a part of the summary, as long as the situation lasts
    helps: str  # a part of what the healing command says that it does
    objects: tuple[Doc, ...] = ()
    begin: Play = nothing  # after the objects are made
    end: Play = nothing  # after the command: what a driver does then
    needs_snapshots: bool = False
    needs_scheduler: bool = False
    is_quick: bool = True  # part of every run


def named(doc: Any, namespace: str) -> Any:
    return json.loads(json.dumps(doc).replace("$NS", namespace))


# documents


def claim(name: str = "data", **spec: Any) -> Doc:
    asked = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return _doc("v1", "PersistentVolumeClaim", name, {**asked, **spec})


def volume(name: str = "disk-$NS", **spec: Any) -> Doc:
    has = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "hostPath": {"path": "/srv/why"},
    }
    return _doc("v1", "PersistentVolume", name, {**has, **spec})


def csi_volume(**spec: Any) -> Doc:
    source = {"driver": DRIVER, "volumeHandle": "handle-$NS"}
    doc = volume(csi=source, claimRef={"namespace": "$NS", "name": "data"}, **spec)
    del doc["spec"]["hostPath"]
    return doc


def storage_class(name: str = "fast-$NS", provisioner: str = "", **more: Any) -> Doc:
    doc = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": more.pop("annotations", {})},
        "provisioner": provisioner or HOST_PATH,
    }
    return {**doc, **more}


def node(name: str = "n1-$NS", ready: str = "True", **spec: Any) -> Doc:
    labels = {"kubernetes.io/hostname": name, **spec.pop("labels", {})}
    doc = _doc("v1", "Node", name, spec)
    doc["metadata"]["labels"] = labels
    doc["metadata"]["annotations"] = {
        "volumes.kubernetes.io/controller-managed-attach-detach": "true"
    }
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "Played",
        "message": "as a test plays it",
        "lastHeartbeatTime": "2038-01-01T00:00:00Z",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    doc["status"] = {"capacity": room, "allocatable": room, "conditions": [condition]}
    return doc


def pod(name: str = "web", uses: str = "data", **spec: Any) -> Doc:
    container = {"name": "main", "image": "busybox", **spec.pop("container", {})}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": uses}}] if uses else []
    has = {
        "containers": [container],
        "volumes": volumes,
        "terminationGracePeriodSeconds": 0,
        "tolerations": TOLERATED,
    }
    return _doc("v1", "Pod", name, {**has, **spec})


def snapshot(**spec: Any) -> Doc:
    source = {"persistentVolumeClaimName": "data"}
    return _doc(SNAPSHOTS, "VolumeSnapshot", "snap", {"source": source, **spec})


def snapshot_class(name: str, driver: str = "", *, default: bool = False) -> Doc:
    mark = "snapshot.storage.kubernetes.io/is-default-class"
    return {
        "apiVersion": SNAPSHOTS,
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": name, "annotations": {mark: "true"} if default else {}},
        "driver": driver or DRIVER,
        "deletionPolicy": "Delete",
    }


def _doc(version: str, kind: str, name: str, spec: Doc) -> Doc:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


SNAPSHOTS = "snapshot.storage.k8s.io/v1"
HOST_PATH = "kubernetes.io/host-path"
DRIVER = "disk.$NS.example"
TOLERATED = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
"""Nodes here have no kubelet; a controller may take a while to see that they are ready."""
CSI_DRIVER = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": DRIVER},
    "spec": {"attachRequired": True},
}


def csi_node(name: str, *topology: str, most: int | None = None) -> Doc:
    driver: Doc = {"name": DRIVER, "nodeID": name, "topologyKeys": list(topology)}
    if most is not None:
        driver["allocatable"] = {"count": most}
    drivers = [driver]
    return _doc("storage.k8s.io/v1", "CSINode", name, {"drivers": drivers})


def on_nodes(key: str, *values: str) -> Doc:
    """A volume's node affinity."""
    wanted = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}


# plays


def event(kind: str, name: str, reason: str, message: str, component: str) -> Play:
    """Somebody records a warning on an object."""

    def play(stage: Stage) -> None:
        about = stage.find("v1", kind, name)
        assert about is not None
        moment = stage.clock.now().isoformat(timespec="seconds")[:19] + "Z"
        stage.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{name}.played"},
                "involvedObject": {
                    "kind": kind,
                    "namespace": stage.namespace,
                    "name": name,
                    "uid": about["metadata"]["uid"],
                },
                "reason": reason,
                "message": message.replace("$NS", stage.namespace),
                "type": "Warning",
                "source": {"component": component},
                "firstTimestamp": moment,
                "lastTimestamp": moment,
                "count": 1,
            }
        )

    return play


def until(stage: Stage, kind: str, name: str, ready: Callable[[Doc], bool]) -> Doc:
    """Waits until an object is so; some seconds at most."""
    found = stage.find("v1", kind, name)
    for _ in range(400):
        if found is not None and ready(found):
            return found
        stage.pause()
        found = stage.find("v1", kind, name)
    raise AssertionError(f"{kind} {name} is not as awaited: {found}")


def bound_to(name: str) -> Play:
    """Waits until the claim of this name has its volume."""

    def play(stage: Stage) -> None:
        until(stage, "PersistentVolumeClaim", name, lambda it: it["status"]["phase"] == "Bound")

    return play


bound = bound_to("data")


def runs(stage: Stage) -> None:
    """Waits until the pod of the situation does."""
    until(stage, "Pod", "web", lambda it: it["status"]["phase"] == "Running")


def made(doc: Doc) -> Play:
    """Only now: what is made earlier could be taken for another."""

    def play(stage: Stage) -> None:
        stage.create(named(doc, stage.namespace))

    return play


def deleted(kind: str, name: str) -> Play:
    def play(stage: Stage) -> None:
        named_so = name.replace("$NS", stage.namespace)
        stage.ask("DELETE", f"{stage.collection('v1', kind)}/{named_so}")

    return play


def after(*plays: Play) -> Play:
    def play(stage: Stage) -> None:
        for each in plays:
            each(stage)

    return play


def claim_status(status: Doc, **spec: Any) -> Play:
    def play(stage: Stage) -> None:
        path = f"{stage.collection('v1', 'PersistentVolumeClaim')}/data"
        if spec:
            stage.patch(path, {"spec": spec})
        stage.patch(f"{path}/status", {"status": status})

    return play


def pod_status(state: str, said: Doc) -> Play:
    """The kubelet tells of the container of the situation's pod."""
    told = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    status = {"containerStatuses": [{**told, "state": {state: said}}]}
    return patched("v1", "Pod", "web/status", {"status": status})


def patched(version: str, kind: str, name: str, change: Doc) -> Play:
    def play(stage: Stage) -> None:
        path = f"{stage.collection(version, kind)}/{named(name, stage.namespace)}"
        stage.patch(path, named(change, stage.namespace))

    return play


def attached(state: Doc) -> Play:
    """The attacher answers for the one VolumeAttachment of the situation's volume."""

    def play(stage: Stage) -> None:
        path = "/apis/storage.k8s.io/v1/volumeattachments"
        for _ in range(400):
            _, found = stage.ask("GET", path)
            mine = [
                each["metadata"]["name"]
                for each in found["items"]
                if each["spec"]["source"].get("persistentVolumeName") == f"disk-{stage.namespace}"
            ]
            if mine:
                stage.patch(f"{path}/{mine[0]}/status", {"status": state})
                return
            stage.pause()
        raise AssertionError("nobody asked for an attachment")

    return play


def volume_forgotten(stage: Stage) -> None:
    """Somebody deletes the volume of a claim, with force."""
    path = f"/api/v1/persistentvolumes/disk-{stage.namespace}"
    stage.ask("DELETE", path)
    stage.patch(path, {"metadata": {"finalizers": None}})
    until(stage, "PersistentVolumeClaim", "data", lambda it: it["status"]["phase"] == "Lost")
