"""Plans: a reason, steps in order, and the steps that any plan may hold.

Each reconciler adds its own steps in its `plan.py`; `reconcile/apply.py` carries out the steps that
are defined here.
"""

from typing import Generic, TypeVar

import msgspec

from mooring.model.event import EventType
from mooring.model.meta import ApiObject

S = TypeVar("S")


class Emit(msgspec.Struct, frozen=True):
    """Record an event on the object."""

    about: ApiObject
    type: EventType
    reason: str  # the second column of `kubectl describe`
    message: str


class Fail(msgspec.Struct, frozen=True):
    """Nothing can be done now; retry with back-off."""

    message: str


class Plan(msgspec.Struct, Generic[S], frozen=True):
    """What to do, in this order, and why: the reason goes to the log."""

    because: str
    steps: tuple[S, ...] = ()


def plan(because: str, *steps: S) -> Plan[S]:
    return Plan(because, steps)
