"""The condition that tells why a pod was ended by somebody else than its owner or its node."""

from typing import Final

from mooring.model.condition import Condition, set_condition
from mooring.model.pod import Pod

DISRUPTION_TARGET: Final = "DisruptionTarget"


def disrupted(pod: Pod, reason: str, message: str, now: str) -> tuple[Condition, ...]:
    """The pod's conditions, with this one."""
    wanted = Condition(
        DISRUPTION_TARGET,
        "True",
        reason,
        message,
        observed_generation=pod.metadata.generation or None,
    )
    return set_condition(pod.status.conditions, wanted, now)
