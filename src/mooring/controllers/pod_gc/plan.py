"""The steps that a plan for a pod that nobody ends may hold."""

from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.condition import Condition
from mooring.model.pod import Pod


class ForceDelete(msgspec.Struct, frozen=True):
    """Fail it, unless it is finished, and delete it with grace 0; finalizers still hold it."""

    pod: Pod
    conditions: tuple[Condition, ...]


class Tell(msgspec.Struct, frozen=True):
    """What is waited for; once."""

    emit: steps.Emit


Step = ForceDelete | Tell
Plan: TypeAlias = steps.Plan[Step]
