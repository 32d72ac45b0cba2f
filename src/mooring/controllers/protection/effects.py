"""Carrying out protection plans: finalizers, conditions, and events about waiting deletions."""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.protection.plan import (
    AddFinalizer,
    AskServer,
    Plan,
    RemoveFinalizer,
    SetConditions,
)
from mooring.model.claim import Claim
from mooring.model.condition import Condition
from mooring.model.meta import ApiObject
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.protection")


class Effects:
    def __init__(self, client: Client, recorder: Recorder | None = None) -> None:
        """Without a recorder there are no events."""
        self._client = client
        self._recorder = recorder

    async def perform(self, plan: Plan) -> None:
        """Repeated: changes nothing more. Raises: ApiError, Conflict when the object changed."""
        for step in plan.steps:
            match step:
                case AddFinalizer(to, finalizer):
                    await self._write(to, (*to.metadata.finalizers, finalizer), plan)
                case RemoveFinalizer(of, finalizer):
                    held = (name for name in of.metadata.finalizers if name != finalizer)
                    await self._write(of, held, plan)
                case Emit():
                    if self._recorder is not None:
                        apply(step, self._recorder)
                case SetConditions(of, conditions):
                    await self._write_conditions(of, conditions, plan)
                case AskServer():
                    raise ValueError("answer this first, then decide again")
                case other:
                    assert_never(other)

    async def _write_conditions(
        self, claim: Claim, conditions: Iterable[Condition], plan: Plan
    ) -> None:
        status = {"conditions": msgspec.to_builtins(tuple(conditions))}
        await self._client.patch(claim, {"status": status}, Part.STATUS)
        _log.info("use of a claim noted", key=claim.key, because=plan.because)

    async def _write(self, seen: ApiObject, finalizers: Iterable[str], plan: Plan) -> None:
        await self._client.patch(seen, {"metadata": {"finalizers": list(finalizers)}})
        _log.info("finalizers written", kind=seen.resource.kind, key=seen.key, because=plan.because)
