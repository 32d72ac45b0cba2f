"""What all effects of a resizer work with."""

from collections.abc import Callable

import msgspec

from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.csi.secrets import Secrets
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.reference import SecretReference
from mooring.model.steps import Emit
from mooring.model.volume import Volume
from mooring.reconcile.apply import NotNow, apply
from mooring.reconcile.recorder import Recorder
from mooring.sidecars.credentials import NoCredentials, read_credentials
from mooring.sidecars.driver import Driver
from mooring.sidecars.one_by_one import OneByOne
from mooring.sidecars.resizer.caches import Caches
from mooring.sidecars.resizer.memory import Memory
from mooring.sidecars.resizer.options import ResizerOptions
from mooring.sidecars.writing import patch_newest


class ResizerContext(msgspec.Struct, frozen=True):
    client: Client
    clock: Clock
    recorder: Recorder
    driver: Driver
    options: ResizerOptions
    caches: Caches
    memory: Memory
    busy: OneByOne  # by volume: the driver is asked one thing of it at a time

    def newest_claim(self, seen: Claim) -> Claim:
        """With what was written since it was seen."""
        found = self.caches.claims.get(seen.key)
        return found if found is not None and found.uid == seen.uid else seen

    def newest_volume(self, seen: Volume) -> Volume:
        found = self.caches.volumes.get(seen.key)
        return found if found is not None and found.uid == seen.uid else seen

    async def begin(self, claim: Claim, change: Doc) -> Claim:
        """Write what has to be on record before the driver is asked.

        Raises: Conflict, if the claim has changed since the decision.
        """
        if not change:
            return claim
        written = await self.client.patch(claim, change, Part.STATUS)
        self.caches.claims.fold(written)
        return written

    async def record(self, claim: Claim, change: Callable[[Claim], Doc]) -> None:
        """Write what has become true; nothing of a claim that is gone."""
        seen = self.newest_claim(claim)
        written = await patch_newest(self.client, seen, change, Part.STATUS)
        if written is not None:
            self.caches.claims.fold(written)

    async def record_volume(self, volume: Volume, change: Doc) -> None:
        seen = self.newest_volume(volume)
        written = await patch_newest(self.client, seen, lambda _: change)
        if written is not None:
            self.caches.volumes.fold(written)

    async def secrets(
        self, claim: Claim, reference: SecretReference | None, reason: str
    ) -> Secrets:
        """Raises: NotNow, after an event, if it cannot be read; then nothing has begun."""
        try:
            return await read_credentials(self.client, reference)
        except NoCredentials as error:
            where = "" if reference is None else f"{reference.namespace}/{reference.name}"
            words = f'failed to load secret "{where}": {error}'
            apply(Emit(claim, EventType.WARNING, reason, words), self.recorder)
            raise NotNow(words) from error
