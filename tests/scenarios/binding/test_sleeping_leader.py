"""A leader stands still in the middle of its work, as by SIGSTOP, until another leads; then it goes
on where it was. What it does from then on is refused before it is sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from random import Random

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.contract import EVERYTHING, Action, Change, Client, Listing, Part, Scope, T
from mooring.client.local import LocalClient
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.run import add_binder
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.reconcile.leadership import FencedClient, NotLeading
from mooring.reconcile.lease import LeaderElection, Terms
from mooring.reconcile.loops import Loops
from tests.fakes.clock import VirtualClock
from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, a_claim
from tests.scenarios.binding.cluster import FAKE, Cluster, FakePlugin

LEASE = Key("kube-system", "mooring-controllers")
TERMS = Terms(lease=15, renew_deadline=10.0, retry=2.0)
LONG = 40.0  # seconds, longer than a lease


class SleepingClock:
    """Time goes on while the process stands still; its timers fire when it wakes."""

    def __init__(self, true: VirtualClock, awake: asyncio.Event) -> None:
        self.now = true.now
        self.monotonic = true.monotonic
        self._true = true
        self._awake = awake

    async def sleep(self, seconds: float) -> None:
        await self._true.sleep(seconds)
        await self._awake.wait()


class Asleep:
    """A client whose calls are made when the process is awake."""

    def __init__(self, client: Client, awake: asyncio.Event) -> None:
        self.refused: list[str] = []
        self._client = client
        self._awake = awake

    async def get(self, kind: type[T], key: Key) -> T:
        await self._awake.wait()
        return await self._client.get(kind, key)

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        await self._awake.wait()
        return await self._client.list(kind, scope)

    def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AbstractAsyncContextManager[AsyncIterator[Change[T]]]:
        return self._client.watch(kind, version, scope)

    async def create(self, kind: type[T], doc: Doc) -> T:
        await self._awake.wait()
        try:
            return await self._client.create(kind, doc)
        except NotLeading:
            self.refused.append(f"create {kind.__name__}")
            raise

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        await self._awake.wait()
        return await self._client.patch(seen, change, part)

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        await self._awake.wait()
        return await self._client.patch_both(seen, main, status)

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        await self._awake.wait()
        return await self._client.post(kind, key, action, doc)

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        await self._awake.wait()
        await self._client.delete(seen, grace_seconds=grace_seconds)


class Process:
    """A candidate with a binder and a plugin of its own."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.awake = asyncio.Event()
        self.awake.set()
        self.plugin = FakePlugin()
        self.is_leading = False
        self._clock = SleepingClock(cluster.clock, self.awake)
        self._direct = LocalClient(InProcessApi(cluster.api.parts.backend, CONTROLLERS))
        self._settings = cluster.settings
        rng = Random(name)  # noqa: S311  repeatable, not secret
        client = Asleep(self._direct, self.awake)
        self.election = LeaderElection(client, self._clock, rng, LEASE, name, TERMS)
        self.client = Asleep(FencedClient(self._direct, self.election.leadership), self.awake)
        self.task = asyncio.create_task(self.election.run(self._lead))

    async def _lead(self) -> None:
        self.is_leading = True
        loops = Loops("controllers", self.client, self._clock, Random(1))  # noqa: S311
        plugins = InTreePlugins({FAKE: self.plugin}, {FAKE: self.plugin}, {})
        add_binder(loops, plugins, self._settings)
        try:
            await loops.run()
        finally:
            self.is_leading = False

    async def end(self) -> None:
        self.awake.set()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_a_volume_that_a_sleeping_leader_was_making_is_made_by_the_next_alone(
    cluster: Cluster,
) -> None:
    await cluster.api.post(CLASSES, {"metadata": {"name": "fake"}, "provisioner": FAKE})
    first = Process(cluster, "first")
    await cluster.passes(1)
    second = Process(cluster, "second")
    first.plugin.hangs = asyncio.Event()
    await cluster.api.post(CLAIMS, a_claim("data", storageClassName="fake"))
    await cluster.passes(1)
    assert (first.is_leading, len(first.plugin.provisioned)) == (True, 1)
    first.awake.clear()
    await cluster.passes(LONG)
    assert second.is_leading
    assert second.plugin.provisioned == first.plugin.provisioned  # the same name: no second one
    bound = await cluster.claim()
    assert bound.startswith("Bound pvc-")
    before = (await cluster.api.get(VOLUMES)).doc["items"]

    first.plugin.hangs.set()  # the driver answered while nobody listened
    await cluster.settle()
    first.awake.set()
    await cluster.passes(LONG)
    assert first.client.refused == ["create Volume"]
    assert (await cluster.api.get(VOLUMES)).doc["items"] == before
    assert await cluster.claim() == bound
    assert second.plugin.deleted == first.plugin.deleted == []
    assert second.is_leading
    await first.end()
    await second.end()
