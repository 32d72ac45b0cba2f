"""Holding on to what a volume is filled from, while it is."""

from mooring import log
from mooring.client.contract import Client
from mooring.errors import Forbidden, NotFound
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot
from mooring.model.wellknown import Finalizer
from mooring.sidecars.finalizers import adding, has_finalizer, removing
from mooring.sidecars.provisioner.caches import BY_SOURCE, Caches, source_index
from mooring.sidecars.provisioner.plan import INTENT
from mooring.sidecars.provisioner.sources import DataSource, SourceKind, find_source
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

_log = log.get("mooring.provisioner")


class SourceProtection:
    def __init__(self, client: Client, caches: Caches) -> None:
        self._client = client
        self._caches = caches

    async def hold(self, claim: Claim) -> None:
        """What the claim is filled from cannot go before `let_go`. Raises: ApiError."""
        source = _source_of(claim)
        if source is None:
            return
        if source.kind is SourceKind.CLAIM:
            origin = await self._client.get(Claim, source.key)
            if not has_finalizer(origin, Finalizer.CLONE_SOURCE):
                change = {"metadata": adding(origin, Finalizer.CLONE_SOURCE)}
                self._caches.claims.fold(await self._client.patch(origin, change))
            return
        snapshot = await self._client.get(Snapshot, source.key)
        if has_finalizer(snapshot, Finalizer.RESTORE_SOURCE):
            return
        try:
            change = {"metadata": adding(snapshot, Finalizer.RESTORE_SOURCE)}
            await self._client.patch(snapshot, change)
        except Forbidden as error:  # as upstream: older roles do not allow it
            _log.warning("snapshot not protected", snapshot=source.key, because=error)

    async def let_go(self, claim: Claim) -> None:
        """This claim needs its snapshot no longer. A claim that was cloned is let go of when it
        is deleted (`ReleaseSource`), as upstream does. Raises: ApiError."""
        source = _source_of(claim)
        if source is None or source.kind is not SourceKind.SNAPSHOT:
            return
        if self._others_need(claim, source.word, source.key):
            return
        try:
            snapshot = await self._client.get(Snapshot, source.key)
            if has_finalizer(snapshot, Finalizer.RESTORE_SOURCE):
                change = {"metadata": removing(snapshot, Finalizer.RESTORE_SOURCE)}
                await self._client.patch(snapshot, change)
        except NotFound:
            return
        except Forbidden as error:
            _log.warning("snapshot still protected", snapshot=source.key, because=error)

    def _others_need(self, claim: Claim, kind: str, key: Key) -> bool:
        users = self._caches.claims.by_index(BY_SOURCE, source_index(kind, key))
        return any(has_finalizer(user, INTENT) for user in users if user.uid != claim.uid)


def _source_of(claim: Claim) -> DataSource | None:
    try:
        source = find_source(claim)
    except WaitingReason:
        return None
    return None if source is None or source.kind is SourceKind.OTHER else source
