"""Which health of a volume is told on its claim. Pure.

Invariants: a driver that did not answer changes nothing; a condition goes only when the driver says
that it is gone, or has left the volume out of two complete lists; a change of wording alone writes
nothing.
"""

from mooring.model.event import EventType
from mooring.model.health import HealthCondition, acceptable, keys
from mooring.model.steps import Emit, plan
from mooring.sidecars.health.plan import Plan, Reason, Step, WriteHealth
from mooring.sidecars.health.view import Before, ConditionView, HealthView, NotListed, Reported

ROUNDS = 2  # complete lists without a volume, after which it counts as healthy
RECOVERED = "The Volume returns to the healthy state"


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
    if keys(wanted) == keys(stored):
        return plan("nothing changed")
    steps: list[Step] = [WriteHealth(view.claim, wanted)]
    known = keys(stored)
    for one in wanted:
        if one.key not in known:
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
