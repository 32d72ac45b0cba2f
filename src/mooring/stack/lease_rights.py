"""Telling people, once, that a lease can never be had: a sidecar without it waits in silence."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from mooring import log
from mooring.client.contract import (
    EVERYTHING,
    Action,
    Change,
    Client,
    Doc,
    Listing,
    Part,
    Scope,
    T,
)
from mooring.errors import Forbidden, NotFound, Unauthorized
from mooring.model.keys import Key
from mooring.model.meta import ApiObject

_log = log.get("mooring.lease")

REMEDY = (
    "allow get, create, patch and update on leases of coordination.k8s.io there,"
    " or choose another --leader-election-namespace, or --no-leader-elect if no other sidecar runs"
)


class TellsOfRights:
    """`Client`, for the election for one lease; warns of the first refusal that will not pass."""

    def __init__(self, client: Client, lease: Key) -> None:
        self._client = client
        self._lease = lease
        self._has_told = False

    async def get(self, kind: type[T], key: Key) -> T:
        try:
            return await self._client.get(kind, key)
        except (Forbidden, Unauthorized) as error:
            self._tell(error)
            raise

    async def create(self, kind: type[T], doc: Doc) -> T:
        try:
            return await self._client.create(kind, doc)
        except (Forbidden, Unauthorized, NotFound) as error:  # not found: there is no namespace
            self._tell(error)
            raise

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        try:
            return await self._client.patch(seen, change, part)
        except (Forbidden, Unauthorized) as error:
            self._tell(error)
            raise

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        return await self._client.list(kind, scope)

    def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AbstractAsyncContextManager[AsyncIterator[Change[T]]]:
        return self._client.watch(kind, version, scope)

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        return await self._client.patch_both(seen, main, status)

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        return await self._client.post(kind, key, action, doc)

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        await self._client.delete(seen, grace_seconds=grace_seconds)

    def _tell(self, error: Forbidden | Unauthorized | NotFound) -> None:
        if self._has_told:
            return
        self._has_told = True
        _log.warning(
            "NO LEASE, AND NOTHING IS SERVED: the server refuses it",
            lease=self._lease,
            because=error,
            remedy=REMEDY,
        )
