"""Carrying out what was decided: the claim's status, the volume's size, and words to people."""

from typing import Any, assert_never

from mooring import log
from mooring.client.contract import Client, Part
from mooring.clock import Clock, to_seconds
from mooring.controllers.expansion.plan import (
    AwaitNode,
    Finish,
    ForgetBefore,
    GrowVolume,
    NameResizer,
    Plan,
    Start,
    Step,
    TellExternal,
)
from mooring.errors import ApiError, Conflict
from mooring.model import expansion
from mooring.model.claim import Claim, ClaimStatus
from mooring.model.storage_terms import STORAGE
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.reconcile.cache import Cache
from mooring.reconcile.recorder import Recorder, reference_to

_log = log.get("mooring.expansion")

EXTERNAL = "ExternalExpanding"
SUCCEEDED = "VolumeResizeSuccessful"
FAILED = "VolumeResizeFailed"


class Effects:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        claims: Cache[Claim],
        volumes: Cache[Volume],
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._claims = claims
        self._volumes = volumes

    async def perform(self, plan: Plan, claim: Claim, volume: Volume) -> None:
        """Each write builds on the one before; people are told of the first that is refused.

        Repeated: what is as it should be is not written. Raises: ApiError, ConnectionLost.
        """
        for step in plan.steps:
            try:
                claim, volume = await self._perform(step, claim, volume)
            except Conflict:
                raise  # somebody wrote meanwhile: nothing to tell, only to look again
            except ApiError as error:
                reason = EXTERNAL if isinstance(step, NameResizer) else FAILED
                self._tell(claim, "Warning", reason, _failure(step, claim, error))
                raise
        if plan.steps:
            _log.info("claim to be expanded", claim=claim.key, because=plan.because)

    async def _perform(self, step: Step, claim: Claim, volume: Volume) -> tuple[Claim, Volume]:
        now = to_seconds(self._clock.now())
        match step:
            case TellExternal(message):
                self._tell(claim, "Normal", EXTERNAL, message)
            case NameResizer(resizer):
                claim = await self._save(claim, claim.status, resizer)
            case Start(size, resizer):
                claim = await self._save(claim, expansion.start(claim.status, size, now), resizer)
            case GrowVolume(size, before):
                volume = await self._grow(volume, str(size), before)
            case AwaitNode():
                claim = await self._save(claim, expansion.await_node(claim.status, now))
            case Finish(size):
                claim = await self._save(claim, expansion.finish(claim.status, size))
                words = f"ExpandVolume succeeded for volume {claim.key}"
                self._tell(claim, "Normal", SUCCEEDED, words)
            case ForgetBefore():
                volume = await self._forget(volume)
            case other:
                assert_never(other)
        return claim, volume

    async def _save(self, claim: Claim, wanted: ClaimStatus, resizer: str = "") -> Claim:
        """Status and annotation go through the status part, the one that resizers may write."""
        change: dict[str, Any] = {}
        if status := expansion.status_patch(claim.status, wanted):
            change["status"] = status
        if resizer and claim.metadata.annotations.get(Annotation.RESIZER) != resizer:
            change["metadata"] = {"annotations": {Annotation.RESIZER: resizer}}
        if not change:
            return claim
        written = await self._client.patch(claim, change, Part.STATUS)
        self._claims.fold(written)
        return written

    async def _grow(self, volume: Volume, size: str, before: str | None) -> Volume:
        change: dict[str, Any] = {"spec": {"capacity": {STORAGE: size}}}
        if before is not None:
            change["metadata"] = {"annotations": {Annotation.PRE_RESIZE_CAPACITY: before}}
        return await self._save_volume(volume, change)

    async def _forget(self, volume: Volume) -> Volume:
        gone = {"annotations": {Annotation.PRE_RESIZE_CAPACITY: None}}
        return await self._save_volume(volume, {"metadata": gone})

    async def _save_volume(self, volume: Volume, change: dict[str, Any]) -> Volume:
        written = await self._client.patch(volume, change)
        self._volumes.fold(written)
        return written

    def _tell(self, claim: Claim, kind: str, reason: str, message: str) -> None:
        self._recorder.record(reference_to(claim), kind, reason, message)


def _failure(step: Step, claim: Claim, error: ApiError) -> str:
    key = claim.key
    match step:
        case NameResizer():
            return f"error setting resizer annotation to pvc {key}, with error {error}"
        case Start():
            return f"error updating pvc {key} with resize in progress: {error}"
        case Finish():
            return f"error marking pvc {key} as resized: {error}"
        case AwaitNode():
            return f"error marking pvc {key} for node expansion: {error}"
        case _:
            return f"error updating pv for pvc {key}: {error}"
