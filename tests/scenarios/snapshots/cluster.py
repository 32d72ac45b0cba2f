"""The snapshot controller against a whole API in this process, with a played sidecar beside it.

`Cluster.controller()` runs it as production builds it; leaving it kills it. With `writes` it dies
before it can write once more.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.snapshots import run as snapshots
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    SNAPSHOT_CLASSES,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    VOLUMES,
    a_claim,
    a_snapshot,
    a_snapshot_class,
    a_volume,
)
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Mortal
from tests.scenarios.neighbours import Cluster as Neighbours
from tests.scenarios.snapshots.sidecar import GROUP_CONTENTS, Sidecar

GROUP_API = "/apis/groupsnapshot.storage.k8s.io/v1"
GROUPS = f"{GROUP_API}/namespaces/default/volumegroupsnapshots"
GROUP_CLASSES = f"{GROUP_API}/volumegroupsnapshotclasses"
DEFAULT_CLASS = {"snapshot.storage.kubernetes.io/is-default-class": "true"}
MOST_ROUNDS = 30

__all__ = ["GROUPS", "GROUP_CLASSES", "GROUP_CONTENTS", "Cluster"]


class Cluster(Neighbours):
    def __init__(self, api: ApiUnderTest) -> None:
        super().__init__(api)
        self.sidecar = Sidecar(api)
        self.options = NO_OPTIONS

    @asynccontextmanager
    async def controller(self, writes: int = FOREVER) -> AsyncIterator[Mortal]:
        clock, rng = self.api.clock, Random(1)  # noqa: S311  not for secrets
        client = Mortal(LocalClient(InProcessApi(self.api.parts.backend, CONTROLLERS)), writes)
        loops = Loops("controllers", client, clock, rng)
        snapshots.build(loops, self.options)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield client
            running.cancel()

    async def goes_on(self) -> None:
        """Controller and sidecar by turns, until neither writes any more."""
        still = 0
        for _ in range(MOST_ROUNDS):
            before = self.api.parts.backend.store.revision
            await self.settle()
            await self.sidecar.turn()
            await self.api.clock.advance(2)
            await self.settle()
            is_still = self.api.parts.backend.store.revision == before
            still = still + 1 if is_still and not self.sidecar.answers else 0
            if still > 1:
                return
        raise AssertionError("it never comes to rest")

    # given

    async def claim(self, name: str = "data", driver: str = "d.example.com", **labels: str) -> Doc:
        """A claim that is bound to a volume with the handle `vol-<name>`."""
        doc = a_claim(name, volumeName=f"pv-{name}", storageClassName="")
        doc["metadata"]["labels"] = labels
        claim = await self.create(CLAIMS, doc)
        ref = {"namespace": "default", "name": name, "uid": claim["metadata"]["uid"]}
        csi = {"driver": driver, "volumeHandle": f"vol-{name}"}
        await self.create(VOLUMES, a_volume(f"pv-{name}", claimRef=ref, csi=csi))
        status = {"phase": "Bound", "capacity": {"storage": "5Gi"}}
        return await self.patch(CLAIMS, name, {"status": status}, "/status")

    async def snapshot_class(self, name: str = "snappy", **body: Any) -> Doc:
        annotations = body.pop("annotations", None)
        doc = a_snapshot_class(name) | {"deletionPolicy": "Delete"} | body
        if annotations:
            doc["metadata"]["annotations"] = annotations
        return await self.create(SNAPSHOT_CLASSES, doc)

    async def snapshot(self, name: str = "snap", claim: str = "data", **spec: Any) -> Doc:
        doc = a_snapshot(name, claim)
        doc["spec"] |= spec
        doc["spec"] = {key: value for key, value in doc["spec"].items() if value is not None}
        return await self.create(SNAPSHOTS, doc)

    async def static(self, name: str = "content", snapshot: str = "snap", **spec: Any) -> Doc:
        body = {
            "deletionPolicy": "Delete",
            "driver": "d.example.com",
            "source": {"snapshotHandle": "old-1"},
            "volumeSnapshotRef": {"name": snapshot, "namespace": "default"},
        }
        doc = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent"}
        return await self.create(
            SNAPSHOT_CONTENTS, {**doc, "metadata": {"name": name}, "spec": body | spec}
        )

    async def group_class(self, name: str = "grouped", **body: Any) -> Doc:
        annotations = body.pop("annotations", {})
        doc: Doc = {
            "apiVersion": "groupsnapshot.storage.k8s.io/v1",
            "kind": "VolumeGroupSnapshotClass",
            "metadata": {"name": name, "annotations": annotations},
            "driver": "d.example.com",
            "deletionPolicy": "Delete",
        }
        return await self.create(GROUP_CLASSES, doc | body)

    async def group(self, name: str = "all", **source: Any) -> Doc:
        doc = {
            "apiVersion": "groupsnapshot.storage.k8s.io/v1",
            "kind": "VolumeGroupSnapshot",
            "metadata": {"name": name},
            "spec": {
                "source": source or {"selector": {"matchLabels": {"app": "db"}}},
                "volumeGroupSnapshotClassName": "grouped",
            },
        }
        return await self.create(GROUPS, doc)

    # then

    async def all(self, collection: str) -> list[Doc]:
        items: list[Doc] = (await self.api.get(collection)).doc["items"]
        return items

    async def content_of(self, snapshot: str = "snap") -> Doc:
        uid = (await self.get(SNAPSHOTS, snapshot))["metadata"]["uid"]
        return await self.get(SNAPSHOT_CONTENTS, f"snapcontent-{uid}")

    async def said(self, reason: str) -> list[str]:
        return [message for _, _, message, _ in await self.events(reason)]
