"""What a fake node does for a pod."""

import msgspec

from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.steps import Plan as AnyPlan


class SetStatus(msgspec.Struct, frozen=True):
    pod: Pod
    status: Doc


class Remove(msgspec.Struct, frozen=True):
    """The pod has ended: its object goes."""

    pod: Pod


class LookAgain(msgspec.Struct, frozen=True):
    after: float  # seconds


Step = SetStatus | Remove | LookAgain
Plan = AnyPlan[Step]
