"""The last event with a reason about each object, so that a wait is reported once, not per look."""

from typing import Generic, TypeVar

from mooring.controllers.snapshots.plan import Plan
from mooring.model.meta import ApiObject
from mooring.model.steps import Emit
from mooring.reconcile.informer import Informer

T = TypeVar("T", bound=ApiObject)


class Recorded(Generic[T]):
    def __init__(self, informer: Informer[T], reason: str) -> None:
        self._reason = reason
        self._messages: dict[str, str] = {}  # by uid
        informer.on_change(self._forget)

    def of(self, known: T) -> str:
        return self._messages.get(known.uid, "")

    def note(self, known: T, plan: Plan) -> None:
        for step in plan.steps:
            if isinstance(step, Emit) and step.reason == self._reason:
                self._messages[known.uid] = step.message

    def _forget(self, before: T | None, after: T | None) -> None:
        if before is not None and after is None:
            self._messages.pop(before.uid, None)
