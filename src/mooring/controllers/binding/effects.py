"""Steps of a plan, carried out in order up to the first that fails."""

from typing import Protocol

from mooring import log
from mooring.client.contract import Client
from mooring.controllers.binding.metrics import BinderMetrics
from mooring.controllers.binding.patches import claim_patches, volume_patches
from mooring.controllers.binding.plan import (
    AssignClass,
    Delete,
    Plan,
    Provision,
    Reason,
    Recycle,
    SaveClaim,
    SaveVolume,
    Wake,
)
from mooring.errors import MooringError
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.steps import Emit, Fail
from mooring.model.volume import Volume
from mooring.reconcile.apply import apply
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.binding")


class Desk(Protocol):
    """What the rest of the binder does with a plan: knows what was written, starts operations."""

    def fold(self, written: Claim | Volume) -> None: ...

    def start(self, order: Provision | Delete | Recycle) -> None: ...

    def wake(self, claim: Key) -> None:
        """Unless this very plan is about that claim: then it has just been looked at."""
        ...

    def look_again(self, claim: Key) -> None:
        """What was written is not the end of it."""
        ...


class Effects:
    def __init__(self, client: Client, recorder: Recorder, metrics: BinderMetrics) -> None:
        self._client = client
        self._recorder = recorder
        self._metrics = metrics

    async def carry_out(self, plan: Plan, desk: Desk) -> None:
        """Raises: ApiError and ConnectionLost from a write, NotNow; later steps are left out."""
        for step in plan.steps:
            match step:
                case SaveVolume(seen, wanted):
                    await self.save_volume(seen, wanted, plan.because, desk)
                case SaveClaim(seen, wanted):
                    await self.save_claim(seen, wanted, plan.because, desk)
                case AssignClass(seen, wanted):
                    await self._assign_class(seen, wanted, plan.because, desk)
                case Emit() | Fail():
                    apply(step, self._recorder)
                case Provision() | Delete() | Recycle():
                    desk.start(step)
                case Wake(key):
                    desk.wake(key)

    async def save_volume(self, seen: Volume, wanted: Volume, because: str, desk: Desk) -> Volume:
        main, status = volume_patches(seen, wanted)
        written = await self._client.patch_both(seen, main, status)
        desk.fold(written)
        _log.debug("volume written", volume=seen.name, phase=written.status.phase, because=because)
        return written

    async def save_claim(self, seen: Claim, wanted: Claim, because: str, desk: Desk) -> Claim:
        main, status = claim_patches(seen, wanted)
        written = await self._client.patch_both(seen, main, status)
        desk.fold(written)
        _log.debug("claim written", claim=seen.key, phase=written.status.phase, because=because)
        return written

    def tell(self, about: Claim | Volume, kind: EventType, reason: Reason, message: str) -> None:
        apply(Emit(about, kind, reason, message), self._recorder)

    async def _assign_class(self, seen: Claim, wanted: Claim, because: str, desk: Desk) -> None:
        try:
            await self.save_claim(seen, wanted, because, desk)
        except MooringError:
            self._metrics.class_assigned(ok=False)
            raise
        self._metrics.class_assigned(ok=True)
        desk.look_again(seen.key)
