"""Changing the attributes class: the record first, then the driver, then volume and claim."""

from typing import assert_never

from mooring import log
from mooring.model import modification
from mooring.model.claim import Claim, ClaimStatus
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.steps import Emit, Fail
from mooring.model.timestamp import to_seconds
from mooring.reconcile.apply import apply
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.resizer.context import ResizerContext
from mooring.sidecars.resizer.decide.modify import decide_modified
from mooring.sidecars.resizer.plan import (
    MODIFY_FAILED,
    MODIFYING,
    Cancel,
    Complete,
    Later,
    MarkModifyFailed,
    MarkModifyInfeasible,
    MarkPending,
    Modify,
    ModifyPlan,
    ModifyStep,
    NameClass,
    RejectClass,
)

_log = log.get("mooring.resizer")


class ModifyEffects:
    def __init__(self, context: ResizerContext) -> None:
        self._context = context

    async def perform(self, plan: ModifyPlan) -> Verdict:
        """Raises: ApiError, ConnectionLost, NotNow."""
        verdict: Verdict = Settled()
        for step in plan.steps:
            if isinstance(step, Modify):
                verdict = await self.perform(await self._modify(step))
            elif isinstance(step, Later):
                verdict = Again(step.seconds)
            elif isinstance(step, MarkModifyInfeasible):
                await self._mark_infeasible(step)
                verdict = Again(self._context.options.retry_cap_seconds)
            else:
                await self._perform(step)
        return verdict

    async def _modify(self, step: Modify) -> ModifyPlan:
        """What is to be done about the driver's answer."""
        context, name = self._context, step.attributes.name
        secrets = await context.secrets(step.claim, step.secret, MODIFY_FAILED)
        started = modification.start(step.claim.status, name, self._now())
        claim = await context.begin(step.claim, _status(step.claim, started))
        words = f"external resizer is modifying volume {claim.name} with vac {name}"
        apply(Emit(claim, EventType.NORMAL, MODIFYING, words), context.recorder)
        async with context.busy.alone(step.handle):
            outcome = await context.driver.calls.modify(
                step.handle, step.parameters, secrets, within=context.options.call_seconds
            )
        volume = context.newest_volume(step.volume)
        answer = decide_modified(step, context.newest_claim(claim), volume, outcome)
        _log.info("claim to change", claim=claim.key, to=name, because=answer.because)
        return answer

    async def _perform(self, step: ModifyStep) -> None:
        context, now = self._context, self._now()
        match step:
            case MarkPending(claim):
                wanted = modification.await_class(claim.status)
                await context.begin(claim, _status(claim, wanted))
            case Cancel(claim):
                await context.begin(claim, _status(claim, modification.cancel(claim.status)))
            case NameClass(volume, name):
                if context.newest_volume(volume).spec.volume_attributes_class_name != name:
                    await context.record_volume(
                        volume, {"spec": {"volumeAttributesClassName": name}}
                    )
            case Complete(claim, name):
                await context.record(
                    claim, lambda it: _status(it, modification.finish(it.status, name))
                )
            case MarkModifyFailed(claim, code, message, is_final):
                mark = modification.fail if is_final else modification.doubt
                await context.record(
                    claim, lambda it: _status(it, mark(it.status, code, message, now))
                )
            case Emit() | Fail():
                apply(step, context.recorder)
            case RejectClass(claim, name, message):
                now = self._now()
                await context.record(
                    claim,
                    lambda it: _status(it, modification.reject(it.status, name, message, now)),
                )
            case Modify() | Later() | MarkModifyInfeasible():
                raise TypeError(step)  # `perform` does these
            case other:
                assert_never(other)

    async def _mark_infeasible(self, step: MarkModifyInfeasible) -> None:
        context, now = self._context, self._now()
        seconds = context.options.retry_cap_seconds
        context.memory.classes.begin(step.claim.uid, step.class_uid, seconds)
        await context.record(
            step.claim,
            lambda it: _status(it, modification.refuse(it.status, step.code, step.message, now)),
        )

    def _now(self) -> str:
        return to_seconds(self._context.clock.now())


def _status(claim: Claim, wanted: ClaimStatus) -> Doc:
    patch = modification.status_patch(claim.status, wanted)
    return {"status": patch} if patch else {}
