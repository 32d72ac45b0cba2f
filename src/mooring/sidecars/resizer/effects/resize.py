"""Growing: the record first, then the driver, then the volume's object, then the claim's."""

from typing import assert_never

import msgspec

from mooring import log
from mooring.csi.outcome import Done, Outcome
from mooring.csi.requests import Expanded
from mooring.model import expansion
from mooring.model.claim import Claim, ClaimStatus
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.quantity import Quantity
from mooring.model.steps import Emit, Fail
from mooring.model.storage_terms import STORAGE
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.reconcile.apply import apply
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.resizer.context import ResizerContext
from mooring.sidecars.resizer.decide.resize import decide_expanded
from mooring.sidecars.resizer.plan import (
    RESIZE_FAILED,
    RESIZING,
    AwaitNode,
    Expand,
    Finish,
    ForgetBefore,
    GrowVolume,
    Later,
    MarkResizeFailed,
    MarkResizeInfeasible,
    ResizePlan,
    ResizeStep,
)

_log = log.get("mooring.resizer")

NOT_REQUIRED = Annotation.NODE_EXPANSION_NOT_REQUIRED


class ResizeEffects:
    def __init__(self, context: ResizerContext) -> None:
        self._context = context

    async def perform(self, plan: ResizePlan) -> Verdict:
        """Raises: ApiError, ConnectionLost, NotNow."""
        verdict: Verdict = Settled()
        for step in plan.steps:
            if isinstance(step, Expand):
                verdict = await self.perform(await self._expand(step))
            elif isinstance(step, Later):
                verdict = Again(step.seconds)
            elif isinstance(step, MarkResizeInfeasible):
                await self._mark_infeasible(step)
                verdict = Again(self._context.options.retry_cap_seconds)
            else:
                await self._perform(step)
        return verdict

    async def _expand(self, step: Expand) -> ResizePlan:
        """What is to be done about the driver's answer."""
        context, driver = self._context, self._context.driver
        secrets = await context.secrets(step.claim, step.secret, RESIZE_FAILED)
        claim = await context.begin(step.claim, self._started(step.claim, step.size))
        words = f"External resizer is resizing volume {step.volume.name}"
        apply(Emit(claim, EventType.NORMAL, RESIZING, words), context.recorder)
        context.memory.in_use.discard(claim.uid)
        outcome: Outcome[Expanded]
        if step.request is None:
            outcome = Done(Expanded(step.size.bytes_ceil(), node_expansion_required=True))
        else:
            request = msgspec.structs.replace(step.request, secrets=secrets)
            async with context.busy.alone(request.volume_id):
                outcome = await driver.calls.expand(request, within=context.options.call_seconds)
        volume = context.newest_volume(step.volume)
        answer = decide_expanded(driver.name, step, context.newest_claim(claim), volume, outcome)
        _log.info("claim to grow", claim=claim.key, size=step.size, because=answer.because)
        return answer

    async def _perform(self, step: ResizeStep) -> None:
        context = self._context
        match step:
            case GrowVolume(volume, size, before):
                await self._grow(volume, size, before)
            case ForgetBefore(volume):
                gone = {"annotations": {Annotation.PRE_RESIZE_CAPACITY: None}}
                await context.record_volume(volume, {"metadata": gone})
            case AwaitNode(claim, size):
                now = self._now()
                await context.record(
                    claim, lambda it: _status(it, expansion.await_node(it.status, now, size))
                )
            case Finish(claim, size):
                await context.record(claim, lambda it: _finished(it, size))
            case MarkResizeFailed(claim, error, is_in_use):
                now = self._now()
                await context.record(
                    claim, lambda it: _status(it, expansion.fail(it.status, error, now))
                )
                if is_in_use:
                    context.memory.in_use.add(claim.uid)
            case Emit() | Fail():
                apply(step, context.recorder)
            case Expand() | Later() | MarkResizeInfeasible():
                raise TypeError(step)  # `perform` does these
            case other:
                assert_never(other)

    async def _mark_infeasible(self, step: MarkResizeInfeasible) -> None:
        context, now = self._context, self._now()
        seconds = context.options.retry_cap_seconds
        context.memory.sizes.begin(step.claim.uid, step.size, seconds)
        await context.record(
            step.claim, lambda it: _status(it, expansion.refuse(it.status, step.error, now))
        )

    async def _grow(self, volume: Volume, size: Quantity, before: str | None) -> None:
        change: Doc = {"spec": {"capacity": {STORAGE: str(size)}}}
        if before is not None:
            change["metadata"] = {"annotations": {Annotation.PRE_RESIZE_CAPACITY: before}}
        await self._context.record_volume(volume, change)

    def _started(self, claim: Claim, size: Quantity) -> Doc:
        change = _status(claim, expansion.start(claim.status, size, self._now()))
        if NOT_REQUIRED in claim.metadata.annotations:
            change["metadata"] = {"annotations": {NOT_REQUIRED: None}}
        return change

    def _now(self) -> str:
        return to_seconds(self._context.clock.now())


def _status(claim: Claim, wanted: ClaimStatus) -> Doc:
    patch = expansion.status_patch(claim.status, wanted)
    return {"status": patch} if patch else {}


def _finished(claim: Claim, size: Quantity) -> Doc:
    """The kubelet leaves the volume alone by the annotation."""
    change = _status(claim, expansion.finish(claim.status, size))
    if NOT_REQUIRED not in claim.metadata.annotations:
        change["metadata"] = {"annotations": {NOT_REQUIRED: "true"}}
    return change
