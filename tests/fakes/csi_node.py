"""A whole node, a registrar that offers it a CSI driver, and an API with a claim and a pod."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import node_user
from mooring.client.local import LocalClient
from mooring.clock import Clock
from mooring.csi.plugin_info import CSI_PLUGIN, OFFERED_VERSIONS, Plugin, RegistrationStatus
from mooring.csi.registration import offering
from mooring.host.contract import MountOps
from mooring.node.options import NodeOptions
from mooring.node.role import NAME, NodeRole, build
from mooring.node.root import node_root
from mooring.plugins.csi.attachment_name import CsiName, attachment_name
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.machine import machine_without_runtime
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    EVENTS,
    NODES,
    PODS,
    VOLUMES,
    a_claim,
    a_volume,
)
from tests.fakes.waiting import until

Doc = dict[str, Any]
NODE = "n1"
CLAIMED: Doc = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


class CsiNodeWorld:
    """`driver` is what serves at `socket`; `handle` is its one volume."""

    def __init__(
        self, api: ApiUnderTest, root: Path, mounts: MountOps, driver: str, socket: Path
    ) -> None:
        self.api = api
        self.root = root.resolve()
        self.told: list[RegistrationStatus] = []
        self.handle = "vol-1"
        self.clock: Clock = api.clock
        self._mounts = mounts
        self._driver = driver
        self._socket = socket

    @asynccontextmanager
    async def node(self) -> AsyncIterator[NodeRole]:
        """With the rights of a node. Leaving it is a kill."""
        parts, access = self.api.parts, self.api.parts.access
        local = InProcessApi(parts.backend, node_user(NODE), access.part_verbs, access.check)
        with node_root(self.root, self._mounts) as root:
            rng = random.Random(1)  # noqa: S311  no secret
            loops = Loops(NAME, LocalClient(local), self.clock, rng)
            role = build(loops, root, NodeOptions(NODE), machine_without_runtime(root))
            running = asyncio.create_task(role.run())
            try:
                await role.synced()
                yield role
            finally:
                running.cancel()
                await asyncio.wait([running])

    @asynccontextmanager
    async def registrar(self) -> AsyncIterator[None]:
        """As the driver's own; entered when it has heard what becomes of the driver."""
        plugin = Plugin(CSI_PLUGIN, self._driver, str(self._socket), OFFERED_VERSIONS)
        count = len(self.told)
        async with offering(self.root / "plugins_registry" / "r.sock", plugin, self.told.append):
            await until(lambda: len(self.told) > count)
            yield

    async def create(self, path: str, doc: Doc) -> Doc:
        made = await self.api.post(path, doc)
        assert made.code == 201, made.text
        return made.doc

    async def change(self, path: str, doc: Doc) -> None:
        done = await self.api.patch(path, doc)
        assert done.code == 200, done.text

    async def a_claimed_volume(self, mode: str = "Filesystem", **csi: Any) -> None:
        source = {"driver": self._driver, "volumeHandle": self.handle, "fsType": "ext4"} | csi
        claim = await self.create(CLAIMS, a_claim("data", volumeName="disk", storageClassName=""))
        uid = claim["metadata"]["uid"]
        has = {
            "csi": source,
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": mode,
            "claimRef": {"namespace": "default", "name": "data", "uid": uid},
        }
        await self.create(VOLUMES, a_volume("disk", "1Gi", **has))
        status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
        await self.change(f"{CLAIMS}/data/status", {"status": status})

    async def a_pod(self, volume: Doc = CLAIMED, *, is_block: bool = False, **spec: Any) -> str:
        """Its uid."""
        name = volume["name"]
        mount = {"name": name, "devicePath" if is_block else "mountPath": f"/{name}"}
        field = "volumeDevices" if is_block else "volumeMounts"
        has = {
            "nodeName": NODE,
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i", field: [mount]}],
            "volumes": [volume],
        } | spec
        made = await self.create(PODS, {"metadata": {"name": "web"}, "spec": has})
        return str(made["metadata"]["uid"])

    async def attach(self, context: Doc | None = None) -> None:
        """As the attacher and the attach/detach controller do it."""
        spec = {
            "attacher": self._driver,
            "nodeName": NODE,
            "source": {"persistentVolumeName": "disk"},
        }
        name = attachment_name(self.handle, self._driver, NODE)
        await self.create(ATTACHMENTS, {"metadata": {"name": name}, "spec": spec})
        status: Doc = {"attached": True, "attachmentMetadata": context or {}}
        await self.change(f"{ATTACHMENTS}/{name}/status", {"status": status})
        unique = CsiName(self._driver, self.handle).unique
        attached = [{"name": unique, "devicePath": ""}]
        await self.change(f"{NODES}/{NODE}/status", {"status": {"volumesAttached": attached}})

    async def delete_pod(self) -> None:
        done = await self.api.delete(f"{PODS}/web")
        assert done.code == 200, done.text

    async def pod_gone(self) -> None:
        objects = self.api.parts.backend.objects
        await until(lambda: objects.find("pods", "default", "web", "") is None)

    async def said(self, reason: str) -> list[str]:
        items = (await self.api.get(EVENTS)).doc["items"]
        return [item["message"] for item in items if item["reason"] == reason]
