"""What the snapshot controller and people do about snapshots, for a snapshotter alone."""

from typing import Any

from mooring.model.document import Doc
from tests.fakes.objects import SNAPSHOT_CLASSES, SNAPSHOT_CONTENTS, SNAPSHOTS
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import NAME

GROUP_API = "groupsnapshot.storage.k8s.io/v1"
GROUPS = f"/apis/{GROUP_API}/namespaces/default/volumegroupsnapshots"
GROUP_CONTENTS = f"/apis/{GROUP_API}/volumegroupsnapshotcontents"
GROUP_CLASSES = f"/apis/{GROUP_API}/volumegroupsnapshotclasses"

DOMAIN = "snapshot.storage.kubernetes.io"
GROUP_DOMAIN = "groupsnapshot.storage.kubernetes.io"
CREATED = f"{DOMAIN}/volumesnapshot-being-created"
DELETED = f"{DOMAIN}/volumesnapshot-being-deleted"
HELD = f"{DOMAIN}/volumesnapshotcontent-bound-protection"
AS_SOURCE = f"{DOMAIN}/volumesnapshot-as-source-protection"
GROUP_CREATED = f"{GROUP_DOMAIN}/volumegroupsnapshot-being-created"
GROUP_DELETED = f"{GROUP_DOMAIN}/volumegroupsnapshot-being-deleted"
GROUP_HELD = f"{GROUP_DOMAIN}/volumegroupsnapshotcontent-bound-protection"
SECRET = {f"{DOMAIN}/deletion-secret-name": "key", f"{DOMAIN}/deletion-secret-namespace": "default"}
RECORD = "snapshotter.mooring.dev/snapshot-request"


class SnapshotWorld:
    """One content is called as its snapshot: `content-NAME`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.driver = cluster.driver.snapshots

    async def snapshot_class(self, name: str = "daily", **parameters: str) -> None:
        doc = {"kind": "VolumeSnapshotClass", "apiVersion": "snapshot.storage.k8s.io/v1"}
        body = {"driver": NAME, "deletionPolicy": "Delete", "parameters": parameters}
        await self.cluster.create(SNAPSHOT_CLASSES, {**doc, "metadata": {"name": name}, **body})

    async def snapshot(self, name: str = "snap", **spec: Any) -> Doc:
        """As the controller leaves it; `spec` is that of the content."""
        notes = spec.pop("annotations", {})
        finalizers = spec.pop("finalizers", [HELD])
        status = spec.pop("status", None)
        api = {"apiVersion": "snapshot.storage.k8s.io/v1"}
        source = spec.get("source", {"volumeHandle": "vol-1"})
        wanted = (
            {"volumeSnapshotContentName": f"content-{name}"}
            if "snapshotHandle" in source
            else {"persistentVolumeClaimName": "data"}
        )
        meta = {"name": name, "finalizers": [AS_SOURCE]}
        snapshot = await self.cluster.create(
            SNAPSHOTS,
            {**api, "kind": "VolumeSnapshot", "metadata": meta, "spec": {"source": wanted}},
        )
        body = {
            "driver": NAME,
            "deletionPolicy": "Delete",
            "volumeSnapshotClassName": "daily",
            "volumeSnapshotRef": {
                "name": name,
                "namespace": "default",
                "uid": snapshot["metadata"]["uid"],
            },
            "source": source,
            **spec,
        }
        meta = {"name": f"content-{name}", "annotations": notes, "finalizers": finalizers}
        kind = {**api, "kind": "VolumeSnapshotContent", "metadata": meta, "spec": body}
        made = await self.cluster.create(SNAPSHOT_CONTENTS, kind)
        if status is not None:
            await self.write_status(status, name)
        return made

    async def write_status(self, status: Doc, name: str = "snap") -> None:
        path = f"{SNAPSHOT_CONTENTS}/content-{name}/status"
        await self.cluster.patch(path, {"status": status})

    async def label(self, name: str, node: str) -> None:
        """As the controller does for snapshotters that run on each node."""
        labels = {"labels": {f"{DOMAIN}/managed-by": node}}
        await self.cluster.patch(f"{SNAPSHOT_CONTENTS}/content-{name}", {"metadata": labels})

    async def find(self, name: str = "snap") -> Doc | None:
        return await self.cluster.find(f"{SNAPSHOT_CONTENTS}/content-{name}")

    async def content(self, name: str = "snap") -> Doc:
        return await self.cluster.get(f"{SNAPSHOT_CONTENTS}/content-{name}")

    async def status(self, name: str = "snap") -> Doc:
        status: Doc = (await self.content(name)).get("status", {})
        return status

    async def notes(self, name: str = "snap") -> Doc:
        notes: Doc = (await self.content(name))["metadata"].get("annotations", {})
        return notes

    async def mark_deleted(self, name: str = "snap") -> None:
        """The VolumeSnapshot is deleted; the controller says so on the content."""
        await self.cluster.delete(f"{SNAPSHOTS}/{name}")
        await self.note(DELETED, "yes", name)

    async def delete(self, name: str = "snap") -> None:
        """What the controller does when a VolumeSnapshot is deleted, for the policy Delete."""
        await self.mark_deleted(name)
        await self.delete_content(name)

    async def delete_content(self, name: str = "snap") -> None:
        await self.cluster.delete(f"{SNAPSHOT_CONTENTS}/content-{name}")

    async def note(self, key: str, value: str | None, name: str = "snap") -> None:
        path = f"{SNAPSHOT_CONTENTS}/content-{name}"
        await self.cluster.patch(path, {"metadata": {"annotations": {key: value}}})

    # groups

    async def group_class(self, name: str = "daily", **parameters: str) -> None:
        doc = {"kind": "VolumeGroupSnapshotClass", "apiVersion": GROUP_API}
        body = {"driver": NAME, "deletionPolicy": "Delete", "parameters": parameters}
        await self.cluster.create(GROUP_CLASSES, {**doc, "metadata": {"name": name}, **body})

    async def group(self, name: str = "all", **spec: Any) -> None:
        notes = spec.pop("annotations", {})
        api = {"apiVersion": GROUP_API}
        source = spec.get("source", {"volumeHandles": ["vol-1", "vol-2", "vol-3"]})
        wanted: Doc = {"selector": {"matchLabels": {"app": "db"}}}
        if "groupSnapshotHandles" in source:
            wanted = {"volumeGroupSnapshotContentName": f"content-{name}"}
        meta = {"name": name, "finalizers": ["example.com/held"]}
        kind = {**api, "kind": "VolumeGroupSnapshot", "metadata": meta, "spec": {"source": wanted}}
        group = await self.cluster.create(GROUPS, kind)
        uid = group["metadata"]["uid"]
        body = {
            "driver": NAME,
            "deletionPolicy": "Delete",
            "volumeGroupSnapshotClassName": "daily",
            "volumeGroupSnapshotRef": {"name": name, "namespace": "default", "uid": uid},
            "source": source,
            **spec,
        }
        meta = {"name": f"content-{name}", "annotations": notes, "finalizers": [GROUP_HELD]}
        kind = {**api, "kind": "VolumeGroupSnapshotContent", "metadata": meta, "spec": body}
        await self.cluster.create(GROUP_CONTENTS, kind)

    async def find_group(self, name: str = "all") -> Doc | None:
        return await self.cluster.find(f"{GROUP_CONTENTS}/content-{name}")

    async def group_content(self, name: str = "all") -> Doc:
        return await self.cluster.get(f"{GROUP_CONTENTS}/content-{name}")

    async def delete_group(self, name: str = "all") -> None:
        await self.cluster.delete(f"{GROUPS}/{name}")
        path = f"{GROUP_CONTENTS}/content-{name}"
        await self.cluster.patch(path, {"metadata": {"annotations": {GROUP_DELETED: "yes"}}})
        await self.cluster.delete(path)
