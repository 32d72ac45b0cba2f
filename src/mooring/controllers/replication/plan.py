"""The steps that a plan for a replica set may hold."""

from typing import TypeAlias

import msgspec

from mooring.controllers.owned_pods.plan import PodStep
from mooring.errors import ApiError
from mooring.model import steps

Plan: TypeAlias = steps.Plan[PodStep]


class Failed(msgspec.Struct, frozen=True):
    """Pods could not be created or deleted."""

    reason: str  # FailedCreate, FailedDelete
    error: ApiError
