"""Documents that the client tests send: small, valid, and named by the test."""

from typing import Any

from tests.fakes.certificates import a_certificate

Doc = dict[str, Any]

DRIVER = "csi.example.com"
SNAPSHOTS = "snapshot.storage.k8s.io/v1"
GROUP_SNAPSHOTS = "groupsnapshot.storage.k8s.io/v1"
STORAGE = "storage.k8s.io/v1"


def a_claim(name: str = "data", size: str = "1Gi", **spec: Any) -> Doc:
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": "",
    }
    return _doc("v1", "PersistentVolumeClaim", name, spec=wanted | spec)


def a_volume(name: str, size: str = "1Gi", **spec: Any) -> Doc:
    wanted = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
    }
    return _doc("v1", "PersistentVolume", name, spec=wanted | spec)


def a_config_map(name: str = "settings", **data: str) -> Doc:
    return _doc("v1", "ConfigMap", name, data=data)


def a_secret(name: str, **text: str) -> Doc:
    return _doc("v1", "Secret", name, stringData=text)


def a_class(name: str, **fields: Any) -> Doc:
    return _doc(STORAGE, "StorageClass", name, provisioner=DRIVER, **fields)


def a_pod(name: str, **spec: Any) -> Doc:
    containers = [{"name": "main", "image": "nobody/main:1"}]
    return _doc("v1", "Pod", name, spec={"containers": containers} | spec)


def a_node(name: str) -> Doc:
    return _doc("v1", "Node", name)


def an_attachment(name: str, volume: str, node: str) -> Doc:
    spec = {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return _doc(STORAGE, "VolumeAttachment", name, spec=spec)


def a_snapshot(name: str, claim: str = "data", **fields: Any) -> Doc:
    source = {"persistentVolumeClaimName": claim}
    return _doc(SNAPSHOTS, "VolumeSnapshot", name, spec={"source": source}, **fields)


def an_event(name: str, about: Doc, namespace: str, reason: str, message: str) -> Doc:
    """`about` as the server answered it, with its uid."""
    metadata = about["metadata"]
    involved = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    if "namespace" in metadata:
        involved["namespace"] = metadata["namespace"]
    event = _doc("v1", "Event", name, involvedObject=involved, reason=reason, message=message)
    event["metadata"]["namespace"] = namespace
    times = dict.fromkeys(("firstTimestamp", "lastTimestamp"), "2026-01-02T03:04:05Z")
    return event | times | {"type": "Normal", "count": 1, "source": {"component": "test"}}


def one_of_each(unique: str) -> dict[str, Doc]:
    """One object of every stored kind, by the kind's plural; `unique` begins each name."""
    reference = {"name": unique, "namespace": "default"}
    made_of = {"source": {"volumeHandle": "handle"}, "volumeSnapshotRef": reference}
    group_of = {"source": {"volumeHandles": ["a", "b"]}, "volumeGroupSnapshotRef": reference}
    policy = {"driver": DRIVER, "deletionPolicy": "Delete"}
    selected = {"selector": {"matchLabels": {"app": "db"}}}
    return {
        "namespaces": _doc("v1", "Namespace", unique),
        "nodes": a_node(unique),
        "persistentvolumes": a_volume(unique),
        "persistentvolumeclaims": a_claim(unique),
        "configmaps": a_config_map(unique, colour="blue"),
        "secrets": a_secret(unique, password="hidden"),
        "serviceaccounts": _doc("v1", "ServiceAccount", unique),
        "pods": a_pod(unique),
        "storageclasses": a_class(unique),
        "csidrivers": _doc(STORAGE, "CSIDriver", unique, spec={"podInfoOnMount": True}),
        "csinodes": _doc(STORAGE, "CSINode", unique, spec={"drivers": []}),
        "volumeattachments": an_attachment(unique, unique, unique),
        "csistoragecapacities": _doc(
            STORAGE, "CSIStorageCapacity", unique, storageClassName=unique, capacity="10Gi"
        ),
        "volumeattributesclasses": _doc(
            STORAGE, "VolumeAttributesClass", unique, driverName=DRIVER, parameters={"iops": "9"}
        ),
        "clustertrustbundles": _doc(
            "certificates.k8s.io/v1beta1",
            "ClusterTrustBundle",
            unique,
            spec={"trustBundle": a_certificate()},
        ),
        "volumepopulators": _doc(
            "populator.storage.k8s.io/v1beta1",
            "VolumePopulator",
            unique,
            sourceKind={"group": "example.com", "kind": "Book"},
        ),
        "snapshotmetadataservices": _doc(
            "cbt.storage.k8s.io/v1beta1",
            "SnapshotMetadataService",
            unique,
            spec={"address": "127.0.0.1:50051", "audience": "blocks", "caCert": "UEVN"},
        ),
        "leases": _doc("coordination.k8s.io/v1", "Lease", unique, spec={"holderIdentity": "me"}),
        "volumesnapshots": a_snapshot(unique),
        "volumesnapshotclasses": _doc(SNAPSHOTS, "VolumeSnapshotClass", unique, **policy),
        "volumesnapshotcontents": _doc(
            SNAPSHOTS, "VolumeSnapshotContent", unique, spec=policy | made_of
        ),
        "volumegroupsnapshots": _doc(
            GROUP_SNAPSHOTS, "VolumeGroupSnapshot", unique, spec={"source": selected}
        ),
        "volumegroupsnapshotclasses": _doc(
            GROUP_SNAPSHOTS, "VolumeGroupSnapshotClass", unique, **policy
        ),
        "volumegroupsnapshotcontents": _doc(
            GROUP_SNAPSHOTS, "VolumeGroupSnapshotContent", unique, spec=policy | group_of
        ),
    }


def _doc(api_version: str, kind: str, name: str, **fields: Any) -> Doc:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}} | fields
