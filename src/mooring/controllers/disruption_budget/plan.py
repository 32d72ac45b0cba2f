"""The steps that a plan for a budget may hold."""

from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.disruption_budget import DisruptionBudget, DisruptionBudgetStatus
from mooring.model.steps import Emit


class SaveStatus(msgspec.Struct, frozen=True):
    seen: DisruptionBudget
    status: DisruptionBudgetStatus


Step = SaveStatus | Emit
Plan: TypeAlias = steps.Plan[Step]
