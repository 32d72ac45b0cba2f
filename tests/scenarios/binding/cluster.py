"""The binder and the protection of volumes and claims, against a whole API in this process.

`Cluster.binder()` runs them, as a process of theirs would; leaving it kills them. With `writes`
they die before they can write once more. The plugin `kubernetes.io/fake` makes and deletes
volumes that are names in a set, and fails as told.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.binding.effects.recycle import (
    HOST_PATH_DEADLINE,
    NFS_DEADLINE,
    PodRecycler,
)
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.run import COMPONENT, Binder, BinderSettings, add_binder
from mooring.controllers.protection import run as protection
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import Order, PluginError, Recycler, TellRecycling
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.objects import CLAIMS, DEFAULT, VOLUMES
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Mortal

FAKE = "kubernetes.io/fake"
TURNS = 300  # of the event loop; more than any of this takes


class FakePlugin:
    """Volumes that are names in `assets`; `failures` are raised one after the other first."""

    takes_mount_options = False

    def __init__(self) -> None:
        self.assets: set[str] = set()
        self.provisioned: list[str] = []
        self.deleted: list[str] = []
        self.failures: list[PluginError] = []
        self.hangs: asyncio.Event | None = None
        self.live: Callable[[], Awaitable[None]] = _always  # does not return once its process died

    def check(self) -> None:
        return

    async def provision(self, order: Order) -> Doc:
        self.provisioned.append(order.name)
        await self._trouble()
        self.assets.add(order.name)
        await self.live()
        request = str(order.claim.requested)
        modes = [mode.value for mode in order.claim.spec.access_modes]
        source = {"path": f"/tmp/{order.name}"}  # noqa: S108 - a name in a document
        spec = {"capacity": {"storage": request}, "accessModes": modes, "hostPath": source}
        return {"metadata": {}, "spec": spec}

    async def delete(self, volume: Volume) -> None:
        self.deleted.append(volume.name)
        await self._trouble()
        self.assets.discard(volume.name)
        await self.live()

    async def recycle(self, volume: Volume, tell: TellRecycling) -> None:
        await self._trouble()

    async def _trouble(self) -> None:
        await self.live()
        if self.hangs is not None:
            await self.hangs.wait()
        if self.failures:
            raise self.failures.pop(0)


async def _always() -> None:
    return


class Refusing(Mortal):
    """A client whose next creations of volumes, or next changes, are refused.

    Asked for a volume, it waits until `gate` is open.
    """

    refusals: list[Exception]
    conflicts: list[Exception]
    gate: asyncio.Event

    async def get(self, kind: Any, key: Key) -> Any:
        if kind is Volume:
            await self.gate.wait()
        return await super().get(kind, key)

    async def create(self, kind: Any, doc: Doc) -> Any:
        if kind is Volume and self.refusals:
            raise self.refusals.pop(0)
        return await super().create(kind, doc)

    async def patch_both(self, seen: Any, main: Doc, status: Doc) -> Any:
        if self.conflicts:
            raise self.conflicts.pop(0)
        return await super().patch_both(seen, main, status)


class Cluster:
    def __init__(self, api: ApiUnderTest) -> None:
        self.api = api
        self.clock = api.clock
        self.plugin = FakePlugin()
        self.recycles_with_pods = False
        self.temporary: Path | None = None  # with it, the hostPath plugin makes volumes
        self.refusals: list[Exception] = []  # of volumes that are created
        self.conflicts: list[Exception] = []  # of changes
        self.gate = asyncio.Event()  # nobody is told of a volume who asks for it while it is shut
        self.gate.set()
        self.settings = BinderSettings()

    @asynccontextmanager
    async def binder(self, writes: int = FOREVER) -> AsyncIterator[Binder]:
        clock, rng = self.clock, Random(1)  # noqa: S311  not for secrets
        client = self.a_client(writes)

        loops = Loops("controllers", client, clock, rng)
        settings = replace(self.settings, notes_use=NO_OPTIONS.notes_use)
        binder = add_binder(loops, self._plugins(client), settings)
        protection.build(loops, NO_OPTIONS)
        self.beside(loops)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield binder
            running.cancel()

    def a_client(self, writes: int) -> Mortal:
        client = Refusing(LocalClient(InProcessApi(self.api.parts.backend, CONTROLLERS)), writes)
        client.refusals, client.conflicts = self.refusals, self.conflicts
        client.gate = self.gate
        return client

    def beside(self, loops: Loops) -> None:
        """What else runs in that process."""

    def _plugins(self, client: Mortal) -> InTreePlugins:
        made: dict[str, Any] = {FAKE: self.plugin}
        deletes: dict[str, Any] = {FAKE: self.plugin, Plugin.HOST_PATH: self.plugin}
        host_recycler: Recycler = self.plugin
        nfs_recycler: Recycler = self.plugin
        if self.recycles_with_pods:
            host_recycler = PodRecycler(client, HOST_PATH_DEADLINE)
            nfs_recycler = PodRecycler(client, NFS_DEADLINE)
        if self.temporary is not None:
            host_path = HostPathPlugin(self.temporary, HostPathProvisioning.ON)
            made[Plugin.HOST_PATH] = deletes[Plugin.HOST_PATH] = host_path
        recycles = {Plugin.HOST_PATH: host_recycler, Plugin.NFS: nfs_recycler}
        return InTreePlugins(made, deletes, recycles)

    async def settle(self) -> None:
        await settle(TURNS)

    async def passes(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.settle()

    # what is there

    async def find(self, collection: str, name: str) -> Doc | None:
        answer = await self.api.get(f"{collection}/{name}")
        return answer.doc if answer.code == 200 else None

    async def volume(self, name: str = "disk") -> str:
        """`phase ref=claim BBC`: uids vary, so only whether there is one is told (`+`)."""
        doc = await self.find(VOLUMES, name)
        if doc is None:
            return "gone"
        words = [doc["status"]["phase"]]
        if (reference := doc["spec"].get("claimRef")) is not None:
            words.append(f"ref={reference['name']}{'+' if reference.get('uid') else ''}")
        marks = doc["metadata"].get("annotations", {})
        return " ".join(words + ["BBC"] * ("pv.kubernetes.io/bound-by-controller" in marks))

    async def claim(self, name: str = "data") -> str:
        """`phase volume capacity`."""
        doc = await self.find(CLAIMS, name)
        if doc is None:
            return "gone"
        status = doc["status"]
        words = (
            status["phase"],
            doc["spec"].get("volumeName", ""),
            status.get("capacity", {}).get("storage", ""),
        )
        return " ".join(filter(None, words))

    async def told(self, *reasons: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the binder's events, oldest first; all, or of these."""
        items = (await self.api.get(f"{DEFAULT}/events")).doc["items"]
        items.sort(key=lambda item: int(item["metadata"]["resourceVersion"]))
        return [
            (item["type"], item["reason"], item["message"])
            for item in items
            if item["source"]["component"] == COMPONENT
            and (not reasons or item["reason"] in reasons)
        ]

    # what people and others do

    async def create(self, collection: str, doc: Doc) -> Doc:
        answer = await self.api.post(collection, doc)
        assert answer.code == 201, answer.text
        await self.settle()
        return answer.doc

    async def patch(self, collection: str, name: str, change: Doc, part: str = "") -> Doc:
        answer = await self.api.patch(f"{collection}/{name}{part}", change)
        assert answer.code == 200, answer.text
        await self.settle()
        return answer.doc

    async def delete(self, collection: str, name: str, grace: int | None = None) -> None:
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        answer = await self.api.delete(f"{collection}/{name}{query}")
        assert answer.code in (200, 202), answer.text
        await self.settle()
