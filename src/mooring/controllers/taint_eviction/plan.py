"""The steps that a plan for a pod on a tainted node may hold."""

from typing import TypeAlias

import msgspec

from mooring.controllers.taint_eviction.view import Timer
from mooring.model import steps
from mooring.model.condition import Condition
from mooring.model.pod import Pod


class SetTimer(msgspec.Struct, frozen=True):
    pod: Pod
    timer: Timer


class DropTimer(msgspec.Struct, frozen=True):
    pod: Pod


class Evict(msgspec.Struct, frozen=True):
    """Say why in its status, then delete it with its own grace."""

    pod: Pod
    conditions: tuple[Condition, ...]


Step = SetTimer | DropTimer | Evict | steps.Emit
Plan: TypeAlias = steps.Plan[Step]
