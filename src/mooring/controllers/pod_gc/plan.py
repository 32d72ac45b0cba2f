"""The steps that a plan for a pod that nobody ends may hold."""

from enum import Enum
from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.condition import Condition
from mooring.model.pod import Pod


class Why(Enum):
    """Why a pod is deleted by force, as metrics call it."""

    ORPHANED = "orphaned"
    OUT_OF_SERVICE = "out-of-service"
    UNSCHEDULED = "unscheduled"
    TERMINATED = "terminated"


class ForceDelete(msgspec.Struct, frozen=True):
    """Fail it, unless it is finished, and delete it with grace 0; finalizers still hold it."""

    pod: Pod
    conditions: tuple[Condition, ...]
    why: Why


class Tell(msgspec.Struct, frozen=True):
    """What is waited for; once."""

    emit: steps.Emit


Step = ForceDelete | Tell
Plan: TypeAlias = steps.Plan[Step]
