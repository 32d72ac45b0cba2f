"""The fence round a leader: what it may no longer do, it cannot do.

A leader that lost its lease is asked to come to rest, and may take its time over that, or hang. So
whatever it does to others goes through here first, and is refused from the moment on at which
another may lead.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from math import inf

from mooring.client.contract import EVERYTHING, Action, Change, Client, Listing, Part, Scope, T
from mooring.client.fence import fenced
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject


class NotLeading(MooringError):
    """Another may lead by now: this was not done, and is its business."""


class Leadership:
    """Whether no other candidate can lead yet, by this process's own clock."""

    def __init__(self, clock: Clock, lease: Key) -> None:
        self._clock = clock
        self._lease = lease
        self._until = -inf

    @property
    def left(self) -> float:
        """Seconds until another may lead."""
        return self._until - self._clock.monotonic()

    def lasts_until(self, moment: float) -> None:
        """Others wait at least until then, by the monotonic clock."""
        self._until = moment

    def end(self) -> None:
        """Another leads, or may from now on."""
        self._until = -inf

    def check(self) -> None:
        """Before anything is done that only a leader may do. Raises: NotLeading."""
        if self._clock.monotonic() >= self._until:
            raise NotLeading(f"the lease {self._lease} was lost: another may lead")


class FencedClient:
    """`Client`, whose writes are those of a leader. Writes raise: NotLeading."""

    def __init__(self, client: Client, leadership: Leadership) -> None:
        self._client = client
        self._leadership = leadership

    async def get(self, kind: type[T], key: Key) -> T:
        return await self._client.get(kind, key)

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        return await self._client.list(kind, scope)

    def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AbstractAsyncContextManager[AsyncIterator[Change[T]]]:
        return self._client.watch(kind, version, scope)

    async def create(self, kind: type[T], doc: Doc) -> T:
        with fenced(self._leadership.check):
            return await self._client.create(kind, doc)

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        with fenced(self._leadership.check):
            return await self._client.patch(seen, change, part)

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        with fenced(self._leadership.check):
            return await self._client.patch_both(seen, main, status)

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        with fenced(self._leadership.check):
            return await self._client.post(kind, key, action, doc)

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        with fenced(self._leadership.check):
            await self._client.delete(seen, grace_seconds=grace_seconds)
