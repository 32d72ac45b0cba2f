"""Carrying out what was decided: the claim's status, the volume's size, and words to people."""

from typing import Any, assert_never

from mooring import log
from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.controllers.expansion.back_ends import BackEnds
from mooring.controllers.expansion.plan import (
    EXTERNAL,
    FAILED,
    AwaitNode,
    Finish,
    ForgetBefore,
    GrowBackEnd,
    GrowVolume,
    NameResizer,
    Plan,
    Start,
    Write,
)
from mooring.errors import ApiError, Conflict, HostError
from mooring.model import expansion
from mooring.model.claim import Claim, ClaimStatus
from mooring.model.event import EventType
from mooring.model.steps import Emit, Fail
from mooring.model.storage_terms import STORAGE
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.plugins.contract import VolumeError
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.expansion")


class Effects:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        claims: Informer[Claim],
        volumes: Informer[Volume],
        back_ends: BackEnds,
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._claims = claims
        self._volumes = volumes
        self._back_ends = back_ends

    async def perform(self, plan: Plan, claim: Claim) -> None:
        """Each write builds on the one before; the first that is refused is shown in an event.

        Repeated: what is as it should be is not written. Raises: ApiError, ConnectionLost, NotNow,
        VolumeError, HostError.
        """
        for step in plan.steps:
            if isinstance(step, Emit | Fail):
                apply(step, self._recorder)
                continue
            try:
                claim = await self._write(step, claim)
            except (VolumeError, HostError) as error:
                words = f'error expanding volume "{claim.key}" : {error}'
                apply(Emit(claim, EventType.WARNING, FAILED, words), self._recorder)
                raise
            except Conflict:
                raise  # written meanwhile: no event, only a retry
            except ApiError as error:
                reason = EXTERNAL if isinstance(step, NameResizer) else FAILED
                words = _failure(step, claim, error)
                apply(Emit(claim, EventType.WARNING, reason, words), self._recorder)
                raise
        if plan.steps:
            _log.info("claim to be expanded", claim=claim.key, because=plan.because)

    async def _write(self, step: Write, claim: Claim) -> Claim:
        now = to_seconds(self._clock.now())
        match step:
            case NameResizer(resizer):
                return await self._save(claim, claim.status, resizer)
            case Start(size, resizer):
                return await self._save(claim, expansion.start(claim.status, size, now), resizer)
            case AwaitNode():
                return await self._save(claim, expansion.await_node(claim.status, now))
            case Finish(size):
                return await self._save(claim, expansion.finish(claim.status, size))
            case GrowBackEnd(volume, size, before):
                await self._back_ends.grow(volume, size.bytes_ceil(), before.bytes_ceil())
            case GrowVolume(volume, size, before):
                await self._grow(volume, str(size), before)
            case ForgetBefore(volume):
                gone = {"annotations": {Annotation.PRE_RESIZE_CAPACITY: None}}
                await self._save_volume(volume, {"metadata": gone})
            case other:
                assert_never(other)
        return claim

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

    async def _grow(self, volume: Volume, size: str, before: str | None) -> None:
        change: dict[str, Any] = {"spec": {"capacity": {STORAGE: size}}}
        if before is not None:
            change["metadata"] = {"annotations": {Annotation.PRE_RESIZE_CAPACITY: before}}
        await self._save_volume(volume, change)

    async def _save_volume(self, volume: Volume, change: dict[str, Any]) -> None:
        self._volumes.fold(await self._client.patch(volume, change))


def _failure(step: Write, claim: Claim, error: ApiError) -> str:
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
