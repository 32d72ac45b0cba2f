"""What one pass, or one operation, writes: volumes, claims, events."""

from mooring import log
from mooring.controllers.binding.context import BinderContext
from mooring.controllers.binding.patches import claim_patches, volume_patches
from mooring.controllers.binding.plan import AssignClass, SaveClaim, SaveVolume, Wake, Write
from mooring.errors import MooringError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.steps import Emit, Fail
from mooring.model.volume import Volume
from mooring.reconcile.apply import apply

_log = log.get("mooring.binding")


class Writes:
    """Writes that do not wake `writer` again: it has just been reconciled."""

    def __init__(self, context: BinderContext, writer: Key | None = None) -> None:
        self._context = context
        self._writer = writer
        self.has_written = False

    async def carry_out(self, step: Write, because: str) -> None:
        """Raises: ApiError and ConnectionLost from a write, NotNow."""
        match step:
            case SaveVolume(seen, wanted):
                await self.save_volume(seen, wanted, because)
            case SaveClaim(seen, wanted):
                await self.save_claim(seen, wanted, because)
            case AssignClass(seen, wanted):
                await self._assign_class(seen, wanted, because)
            case Emit() | Fail():
                apply(step, self._context.recorder)
            case Wake(key):
                if key != self._writer:
                    self._context.queue.add(key)

    async def save_volume(self, seen: Volume, wanted: Volume, because: str) -> Volume:
        main, status = volume_patches(seen, wanted)
        written = await self._context.client.patch_both(seen, main, status)
        self._fold(written)
        _log.debug("volume written", volume=seen.name, phase=written.status.phase, because=because)
        return written

    async def save_claim(self, seen: Claim, wanted: Claim, because: str) -> Claim:
        main, status = claim_patches(seen, wanted)
        written = await self._context.client.patch_both(seen, main, status)
        self._fold(written)
        _log.debug("claim written", claim=seen.key, phase=written.status.phase, because=because)
        return written

    async def _assign_class(self, seen: Claim, wanted: Claim, because: str) -> None:
        metrics = self._context.metrics
        try:
            await self.save_claim(seen, wanted, because)
        except MooringError:
            metrics.class_assigned(ok=False)
            raise
        metrics.class_assigned(ok=True)
        self._context.queue.add(seen.key)  # its plan goes on from there

    def _fold(self, written: Claim | Volume) -> None:
        self.has_written = True
        self._context.fold(written, self._writer)
