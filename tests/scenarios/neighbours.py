"""The binder's neighbours against a whole API in this process: protection, ephemeral, expansion.

`Cluster.neighbours()` runs all three, as a process of theirs would; leaving it kills them. With
`writes` they die before they can write once more: what they ask for from then on never happens.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from random import Random

from msgspec.structs import replace

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.contract import EVERYTHING, Action, Change, Client, Listing, Part, Scope, T
from mooring.client.local import LocalClient
from mooring.controllers.ephemeral import run as ephemeral
from mooring.controllers.expansion import run as expansion
from mooring.controllers.options import Options
from mooring.controllers.protection import run as protection
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.meta import ApiObject
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.objects import EVENTS

TURNS = 300  # of the event loop; more than any of this takes
FOREVER = 10**9
NO_OPTIONS = Options(HostPathPlugin(Path("/nowhere"), HostPathProvisioning.OFF))


class Mortal:
    """A client whose process has so many writes to live."""

    def __init__(self, client: Client, writes: int) -> None:
        self.left = writes
        self._client = client

    async def get(self, kind: type[T], key: Key) -> T:
        return await self._client.get(kind, key)

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        return await self._client.list(kind, scope)

    def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AbstractAsyncContextManager[AsyncIterator[Change[T]]]:
        return self._client.watch(kind, version, scope)

    async def create(self, kind: type[T], doc: Doc) -> T:
        await self._live()
        return await self._client.create(kind, doc)

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        await self._live()
        return await self._client.patch(seen, change, part)

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        await self._live()
        return await self._client.patch_both(seen, main, status)

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        await self._live()
        return await self._client.post(kind, key, action, doc)

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        await self._live()
        await self._client.delete(seen, grace_seconds=grace_seconds)

    async def _live(self) -> None:
        if not self.left:
            await asyncio.get_running_loop().create_future()
        self.left -= 1


class Cluster:
    def __init__(self, api: ApiUnderTest) -> None:
        self.api = api

    @asynccontextmanager
    async def neighbours(
        self, writes: int = FOREVER, release: KubernetesVersion = NEWEST
    ) -> AsyncIterator[Mortal]:
        clock, rng = self.api.clock, Random(1)  # noqa: S311  not for secrets
        client = Mortal(LocalClient(InProcessApi(self.api.parts.backend, CONTROLLERS)), writes)
        loops = Loops("neighbours", client, clock, rng)
        for neighbour in (protection, ephemeral, expansion):
            neighbour.build(loops, replace(NO_OPTIONS, release=release))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield client
            running.cancel()

    async def settle(self) -> None:
        await settle(TURNS)

    # what is there

    async def find(self, collection: str, name: str) -> Doc | None:
        answer = await self.api.get(f"{collection}/{name}")
        return answer.doc if answer.code == 200 else None

    async def get(self, collection: str, name: str) -> Doc:
        found = await self.find(collection, name)
        assert found is not None, f"{name} is gone"
        return found

    async def events(self, reason: str) -> list[tuple[str, str, str, str]]:
        """Type, object, message and source of the events with this reason."""
        items = (await self.api.get(EVENTS)).doc["items"]
        return [
            (
                item["type"],
                f"{item['involvedObject']['kind']}/{item['involvedObject']['name']}",
                item["message"],
                item["source"]["component"],
            )
            for item in items
            if item["reason"] == reason
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
