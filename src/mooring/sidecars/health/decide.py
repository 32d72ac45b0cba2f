"""Which health of a volume is told on its claim. Pure.

Invariants: a driver that did not answer changes nothing; a condition goes only when the driver says
that it is gone, or has left the volume out of two complete lists; a change of wording alone writes
nothing.
"""

import re
from collections.abc import Iterable

from mooring.model.claim import HealthCondition
from mooring.model.event import EventType
from mooring.model.steps import Emit, plan
from mooring.sidecars.health.plan import Plan, Reason, Step, WriteHealth
from mooring.sidecars.health.view import Before, ConditionView, HealthView, NotListed, Reported

ROUNDS = 2  # complete lists without a volume, after which it counts as healthy
MOST_CONDITIONS = 16
LONGEST_REASON = 256  # bytes
LONGEST_MESSAGE = 1024
RECOVERED = "The Volume returns to the healthy state"

_is_reason = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?").fullmatch


def decide_health(view: HealthView) -> Plan:
    """The status of the claim, for a driver with the health RPCs."""
    stored = view.claim.health_conditions
    wanted: tuple[HealthCondition, ...] = ()
    match view.report:
        case NotListed(rounds) if stored and rounds < ROUNDS:
            return plan("a list may have gaps")
        case NotListed():
            pass
        case Reported(conditions):
            wanted = acceptable(conditions)
    if _keys(wanted) == _keys(stored):
        return plan("nothing changed")
    steps: list[Step] = [WriteHealth(view.claim, wanted)]
    known = _keys(stored)
    for one in wanted:
        if (one.status, one.reason) not in known:
            text = f"{one.status}: {one.reason}: {one.message}" if one.message else one.reason
            steps.append(Emit(view.claim, EventType.WARNING, Reason.ABNORMAL, text))
    if not wanted:
        steps.append(Emit(view.claim, EventType.NORMAL, Reason.NORMAL, RECOVERED))
    return plan("its health changed", *steps)


def decide_condition(view: ConditionView) -> Plan:
    """Events, for a driver that has a VolumeCondition: one each round while it is abnormal."""
    if view.is_abnormal:
        event = Emit(view.claim, EventType.WARNING, Reason.ABNORMAL, view.message)
        return plan("the driver calls it abnormal", event)
    if view.before is Before.ABNORMAL:
        event = Emit(view.claim, EventType.NORMAL, Reason.NORMAL, RECOVERED)
        return plan("it has recovered", event)
    return plan("all is well")


def acceptable(conditions: Iterable[HealthCondition]) -> tuple[HealthCondition, ...]:
    """Those that an API server takes: each once, in order, cut to length."""
    kept: dict[tuple[str, str], HealthCondition] = {}
    for one in conditions:
        if len(one.reason.encode()) <= LONGEST_REASON and _is_reason(one.reason):
            message = one.message.encode()[:LONGEST_MESSAGE].decode(errors="ignore")
            short = HealthCondition(status=one.status, reason=one.reason, message=message)
            kept.setdefault((one.status, one.reason), short)
    return tuple(kept[key] for key in sorted(kept))[:MOST_CONDITIONS]


def _keys(conditions: Iterable[HealthCondition]) -> frozenset[tuple[str, str]]:
    return frozenset((one.status, one.reason) for one in conditions)
