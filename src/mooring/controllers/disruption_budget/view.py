"""The view of one budget: its pods, how many their owners want, and the time."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.pod import Pod

DELETION_SECONDS = 120.0
"""So long a pod whose eviction was granted may take until it is being deleted."""


class BudgetView(msgspec.Struct, frozen=True):
    budget: DisruptionBudget
    pods: tuple[Pod, ...]  # that it covers
    scales: Mapping[str, int]
    """How many pods are wanted, by the uid of their owner; absent: nobody knows."""
    now: datetime


def needs_scale(budget: DisruptionBudget) -> bool:
    """Whether its bound is about the pods that are wanted, not those that are there."""
    spec = budget.spec
    return spec.max_unavailable is not None or isinstance(spec.min_available, str)
