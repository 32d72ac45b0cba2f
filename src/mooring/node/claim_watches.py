"""News of the claims whose volumes the node may have to expand, so that none waits for the resync.

Claims are watched one by one, which Mooring's API server allows a node for the claims of its pods.
Kubernetes allows a node only to get them: there the resync of `pod_loop.py` does it alone, and one
request an hour asks whether that is still so.
"""

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from mooring import log
from mooring.client.contract import Client, Scope
from mooring.clock import Clock
from mooring.errors import Forbidden, MooringError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.selector import escape_field
from mooring.reconcile.cache import version_of
from mooring.reconcile.reflector import Reflector

REFUSED_SECONDS = 3600.0  # after a refusal, no claim is watched for so long

_log = log.get("mooring.node.claims")


class ClaimWatches:
    """`run` runs the watches until cancelled."""

    def __init__(
        self, client: Client, clock: Clock, rng: Random, changed: Callable[[str], None]
    ) -> None:
        """`changed` gets the uid of each pod whose claim is newer than the pod was told."""
        self._client = client
        self._clock = clock
        self._rng = rng
        self._changed = changed
        self._by_key: dict[Key, _Watched] = {}
        self._of_pod: dict[str, set[Key]] = {}
        self._is_allowed = False  # the server has let us list a claim by its name
        self._refused_until = 0.0
        self._asking = asyncio.Lock()  # while it is not known, one asks for all
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for watched in self._by_key.values():
                self._start(watched)
            await asyncio.get_running_loop().create_future()  # what comes later runs here too

    def follow(self, pod_uid: str, claims: Iterable[Claim]) -> None:
        """From now on the pod uses exactly these, which it has just read."""
        read = {claim.key: claim for claim in claims}
        before = self._of_pod.pop(pod_uid, set())
        if read:
            self._of_pod[pod_uid] = set(read)
        for key in before - read.keys():
            self._drop(key, pod_uid)
        for key, claim in read.items():
            watched = self._by_key.get(key)
            if watched is None:
                watched = self._by_key[key] = _Watched(key)
            watched.pods.add(pod_uid)
            watched.read = max(watched.read, version_of(claim))
            self._start(watched)

    def unfollow(self, pod_uid: str) -> None:
        self.follow(pod_uid, ())

    def are_watched(self, keys: Iterable[Key]) -> bool:
        """Whether a change of any of them will be told. For as long as it is not known: no."""
        return self._is_allowed or not any(True for _ in keys)

    def _drop(self, key: Key, pod_uid: str) -> None:
        watched = self._by_key[key]
        watched.pods.discard(pod_uid)
        if not watched.pods:
            del self._by_key[key]
            if watched.task is not None:
                watched.task.cancel()

    def _start(self, watched: "_Watched") -> None:
        if self._tasks is None or self._is_refused():
            return
        if watched.task is None or watched.task.done():
            watched.task = self._tasks.create_task(self._watch(watched))

    def _is_refused(self) -> bool:
        return self._clock.monotonic() < self._refused_until

    async def _watch(self, watched: "_Watched") -> None:
        key = watched.key
        scope = Scope(key.namespace, fields=f"metadata.name={escape_field(key.name)}")
        if not await self._may_watch(scope):
            return  # until the pod is populated again

        def compare(_: Claim | None, after: Claim | None) -> None:
            if after is not None and version_of(after) > watched.read:
                for pod_uid in tuple(watched.pods):
                    self._changed(pod_uid)

        informer = Reflector(self._client, Claim, scope, self._clock, self._rng)
        informer.on_change(compare)
        await informer.run()

    async def _may_watch(self, scope: Scope) -> bool:
        async with self._asking:
            if self._is_allowed or self._is_refused():
                return self._is_allowed
            try:
                await self._client.list(Claim, scope)
            except Forbidden:
                self._refused_until = self._clock.monotonic() + REFUSED_SECONDS
                _log.info("claims may not be watched here: a volume's growth shows at the resync")
            except MooringError as error:
                _log.info("claims are not watched yet", because=error)
            else:
                self._is_allowed = True
            return self._is_allowed


class _Watched:
    """One claim."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.pods: set[str] = set()  # that use it, by uid
        self.read = 0  # the newest version that they were populated with
        self.task: asyncio.Task[None] | None = None
