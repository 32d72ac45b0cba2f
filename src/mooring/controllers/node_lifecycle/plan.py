"""The steps that a plan for a node may hold."""

from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.condition import Condition
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.taint import Taint


class UpdateNode(msgspec.Struct, frozen=True):
    """None: they stay as they are."""

    seen: Node
    conditions: tuple[Condition, ...] | None = None
    taints: tuple[Taint, ...] | None = None


class MarkPodNotReady(msgspec.Struct, frozen=True):
    pod: Pod
    conditions: tuple[Condition, ...]


class LookAgain(msgspec.Struct, frozen=True):
    seconds: float


Step = UpdateNode | MarkPodNotReady | LookAgain | steps.Emit
Plan: TypeAlias = steps.Plan[Step]
