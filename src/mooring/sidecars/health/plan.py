"""The steps of the health monitor."""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.claim import Claim
from mooring.model.health import HealthCondition
from mooring.model.steps import Emit


class Reason(StrEnum):
    ABNORMAL = "VolumeConditionAbnormal"
    NORMAL = "VolumeConditionNormal"


class WriteHealth(msgspec.Struct, frozen=True):
    """Replace the conditions in the status of the claim."""

    claim: Claim
    conditions: tuple[HealthCondition, ...]


Step: TypeAlias = Emit | WriteHealth
Plan: TypeAlias = steps.Plan[Step]
