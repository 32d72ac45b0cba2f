"""Carrying out what was decided: events and counts."""

from typing import assert_never

from mooring.controllers.data_source.metrics import ValidatorCounts
from mooring.controllers.data_source.plan import Count, Plan
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.recorder import Recorder


class Effects:
    def __init__(self, recorder: Recorder, counts: ValidatorCounts) -> None:
        self._recorder = recorder
        self._counts = counts

    def perform(self, plan: Plan) -> None:
        for step in plan.steps:
            match step:
                case Emit():
                    apply(step, self._recorder)
                case Count(result):
                    self._counts.results[result.value] += 1
                case other:
                    assert_never(other)
