"""Sidecars of one driver against a whole API in this process, with the binder beside them.

`Cluster.provisioner()`, `attacher()` and `resizer()` run one as a process of its own would; leaving
kills it. With `writes` it dies before it can write once more; what it recorded is all that is left
of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS, SIDECARS
from mooring.client.contract import EVERYTHING, Change, Client, Scope
from mooring.client.local import LocalClient
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.run import add_binder
from mooring.controllers.protection import run as protection
from mooring.model.document import Doc
from mooring.model.event import Event
from mooring.reconcile.loops import Loops
from mooring.sidecars.attacher import run as attacher
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.provisioner import run as provisioner
from mooring.sidecars.provisioner.options import AS_UPSTREAM, ProvisionerOptions
from mooring.sidecars.resizer import run as resizer
from mooring.sidecars.resizer.options import ResizerOptions
from mooring.sidecars.snapshotter import run as snapshotter
from mooring.sidecars.snapshotter.options import SNAPSHOTTER_AS_UPSTREAM, SnapshotterOptions
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CSI_NODES,
    EVENTS,
    NODES,
    SECRETS,
    VOLUMES,
    a_claim,
    a_class,
    a_node,
    a_volume,
)
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Mortal
from tests.scenarios.sidecars.driver import NAME, FakeDriver

TURNS = 400  # of the event loop; more than any of this takes
FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"
INTENT = "provisioner.mooring.dev/volume-may-exist"
SELECTED = "volume.kubernetes.io/selected-node"


class Refusing(Mortal):
    """A client that refuses as told: by call, as in `create PersistentVolume`.

    Events are no calls: they are written by `events`, dead or alive.
    Watches of the kinds in `hold` bring nothing before `let_through`.
    """

    def __init__(self, client: Any, writes: int, events: Any) -> None:
        super().__init__(client, writes)
        self._events = events
        self.refusals: dict[str, list[Exception]] = {}
        self.calls: list[str] = []
        self.watched: set[str] = set()  # kinds
        self._held: set[Any] = set()
        self._through = asyncio.Event()

    def hold(self, *kinds: Any) -> None:
        self._held.update(kinds)
        self._through.clear()

    def let_through(self) -> None:
        self._held.clear()
        self._through.set()

    @asynccontextmanager
    async def watch(
        self, kind: Any, version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[Any]]]:
        self.watched.add(kind.resource.kind)
        async with super().watch(kind, version, scope) as changes:
            yield self._when_let_through(kind, changes)

    async def _when_let_through(
        self, kind: Any, changes: AsyncIterator[Change[Any]]
    ) -> AsyncIterator[Change[Any]]:
        async for change in changes:
            if kind in self._held:
                await self._through.wait()
            yield change

    async def get(self, kind: Any, key: Any) -> Any:
        if kind is Event:
            return await self._events.get(kind, key)
        self._ask(f"get {kind.resource.kind}", counts=False)
        return await super().get(kind, key)

    async def create(self, kind: Any, doc: Doc) -> Any:
        if kind is Event:
            return await self._events.create(kind, doc)
        self._ask(f"create {kind.resource.kind}")
        return await super().create(kind, doc)

    async def patch(self, seen: Any, change: Doc, part: Any = None) -> Any:
        if isinstance(seen, Event):
            return await self._events.patch(seen, change)
        self._ask(f"patch {seen.resource.kind}")
        return await (super().patch(seen, change, part) if part else super().patch(seen, change))

    async def delete(self, seen: Any, *, grace_seconds: int | None = None) -> None:
        self._ask(f"delete {seen.resource.kind}")
        await super().delete(seen, grace_seconds=grace_seconds)

    def _ask(self, call: str, *, counts: bool = True) -> None:
        if counts:
            self.calls.append(call)
        if self.refusals.get(call):
            raise self.refusals[call].pop(0)


class Cluster:
    def __init__(self, api: ApiUnderTest) -> None:
        self.api = api
        self.clock = api.clock
        self.driver = FakeDriver()
        self.options: ProvisionerOptions = AS_UPSTREAM
        self.snapshotting: SnapshotterOptions = SNAPSHOTTER_AS_UPSTREAM
        self.resizing = ResizerOptions()

    # running things

    @asynccontextmanager
    async def neighbours(self) -> AsyncIterator[None]:
        """The binder and the protection of claims and volumes."""
        loops = Loops("controllers", self.client(), self.clock, Random(3))  # noqa: S311  no secret
        add_binder(loops, InTreePlugins({}, {}, {}))
        protection.build(loops, NO_OPTIONS)
        async with self.running(loops):
            yield

    @asynccontextmanager
    async def provisioner(self, writes: int = FOREVER) -> AsyncIterator[Refusing]:
        client = Refusing(self.client_of_sidecar(), writes, self.client())
        loops = self.loops(client)
        provisioner.build(loops, self.driver.driver, self.sidecar_options())
        async with self.running(loops):
            yield client

    @asynccontextmanager
    async def attacher(self, writes: int = FOREVER) -> AsyncIterator[Refusing]:
        client = Refusing(self.client_of_sidecar(), writes, self.client())
        loops = self.loops(client)
        attacher.build(loops, self.driver.driver, self.sidecar_options())
        async with self.running(loops):
            yield client

    @asynccontextmanager
    async def snapshotter(self, writes: int = FOREVER) -> AsyncIterator[Refusing]:
        client = Refusing(self.client_of_sidecar(), writes, self.client())
        loops = self.loops(client)
        snapshotter.build(loops, self.driver.driver, self.sidecar_options())
        async with self.running(loops):
            yield client

    @asynccontextmanager
    async def resizer(self, writes: int = FOREVER) -> AsyncIterator[Refusing]:
        client = Refusing(self.client_of_sidecar(), writes, self.client())
        loops = self.loops(client)
        resizer.build(loops, self.driver.driver, self.sidecar_options())
        async with self.running(loops):
            yield client

    def sidecar_options(self) -> SidecarOptions:
        own_node = self.driver.own_node
        return SidecarOptions(
            self.options,
            capacity_namespace="default",
            snapshotter=self.snapshotting,
            resizer=self.resizing,
            node=own_node.name if own_node else "",
        )

    def loops(self, client: Client) -> Loops:
        return Loops("sidecars", client, self.clock, Random(7))  # noqa: S311  no secret

    @asynccontextmanager
    async def running(self, loops: Loops) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield
            running.cancel()

    def client(self) -> LocalClient:
        return LocalClient(InProcessApi(self.api.parts.backend, CONTROLLERS))

    def client_of_sidecar(self) -> LocalClient:
        """With the rights of one, and no more."""
        parts = self.api.parts
        return LocalClient(InProcessApi(parts.backend, SIDECARS, check=parts.access.check))

    async def settle(self) -> None:
        await settle(TURNS)

    async def passes(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.settle()

    # what is there

    async def find(self, path: str) -> Doc | None:
        answer = await self.api.get(path)
        return answer.doc if answer.code == 200 else None

    async def get(self, path: str) -> Doc:
        found = await self.find(path)
        assert found is not None, f"{path} is gone"
        return found

    async def volumes(self) -> list[Doc]:
        items: list[Doc] = (await self.api.get(VOLUMES)).doc["items"]
        return items

    async def volume_of(self, claim: str = "data") -> Doc:
        uid = (await self.get(f"{CLAIMS}/{claim}"))["metadata"]["uid"]
        return await self.get(f"{VOLUMES}/pvc-{uid}")

    async def phase(self, claim: str = "data") -> str:
        found = await self.find(f"{CLAIMS}/{claim}")
        return "gone" if found is None else str(found["status"]["phase"])

    async def finalizers(self, path: str) -> list[str]:
        return list((await self.get(path))["metadata"].get("finalizers", []))

    async def told(self, reason: str = "") -> list[str]:
        """Messages of events, once each."""
        items = (await self.api.get(EVENTS)).doc["items"]
        return [item["message"] for item in items if reason in ("", item["reason"])]

    async def handles(self) -> set[str]:
        """What objects say that the driver has."""
        return {volume["spec"]["csi"]["volumeHandle"] for volume in await self.volumes()}

    # what people and others do

    async def create(self, path: str, doc: Doc) -> Doc:
        answer = await self.api.post(path, doc)
        assert answer.code == 201, answer.text
        await self.settle()
        return answer.doc

    async def patch(self, path: str, change: Doc) -> None:
        answer = await self.api.patch(path, change)
        assert answer.code == 200, answer.text
        await self.settle()

    async def delete(self, path: str) -> None:
        answer = await self.api.delete(path)
        assert answer.code in (200, 202), answer.text
        await self.settle()

    async def storage_class(self, name: str = "fast", **body: Any) -> Doc:
        return await self.create(CLASSES, a_class(name, **body))

    async def claim(self, name: str = "data", **spec: Any) -> Doc:
        return await self.create(CLAIMS, a_claim(name, **{"storageClassName": "fast", **spec}))

    async def select(self, node: str, claim: str = "data") -> None:
        """As the scheduler does for late binding."""
        await self.patch(f"{CLAIMS}/{claim}", {"metadata": {"annotations": {SELECTED: node}}})

    async def secret(self, name: str = "key", value: str = "aHVzaA==") -> None:
        doc = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}}
        await self.create(SECRETS, {**doc, "data": {"password": value}})

    async def node(self, name: str, *, registered: bool = True, **labels: str) -> None:
        """A node in the places that `labels` name, with the driver on it."""
        doc = a_node(name)
        doc["metadata"]["labels"] = labels
        await self.create(NODES, doc)
        if registered:
            await self.csi_node(name, *labels)

    async def csi_node(self, name: str, *keys: str) -> None:
        entry = {"name": NAME, "nodeID": f"id-{name}", "topologyKeys": sorted(keys)}
        meta = {"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": name}}
        await self.create(CSI_NODES, {**meta, "spec": {"drivers": [entry]}})

    async def static_volume(self, name: str = "pv1", **spec: Any) -> None:
        csi = {"driver": NAME, "volumeHandle": f"h-{name}", **spec.pop("csi", {})}
        await self.create(VOLUMES, a_volume(name, csi=csi, storageClassName="", **spec))

    async def attachment(self, volume: str = "pv1", node: str = "n1", name: str = "link") -> None:
        source = {"persistentVolumeName": volume}
        spec = {"attacher": NAME, "nodeName": node, "source": source}
        doc = {"kind": "VolumeAttachment", "apiVersion": "storage.k8s.io/v1"}
        await self.create(ATTACHMENTS, {**doc, "metadata": {"name": name}, "spec": spec})

    async def status(self, name: str = "link") -> Doc:
        status: Doc = (await self.get(f"{ATTACHMENTS}/{name}"))["status"]
        return status
