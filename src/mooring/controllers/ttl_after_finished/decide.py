"""Whether the time of a finished job is over.

Always true: a job goes only when it has finished, says after how long, and so long has passed.
"""

from datetime import datetime

from mooring.controllers.ttl_after_finished.plan import Decision, Expire
from mooring.controllers.ttl_after_finished.view import FinishedView
from mooring.model.condition import find_condition
from mooring.model.job import COMPLETE, FAILED, Job
from mooring.model.steps import plan
from mooring.model.timestamp import shifted


def decide(view: FinishedView) -> Decision:
    expiry = expiry_of(view.job)
    if expiry is None or view.job.is_deleting:
        return Decision(plan("it has not finished, or is to stay"))
    left = (expiry - view.now).total_seconds()
    if left > 0:
        return Decision(plan("its time is not over"), left)
    return Decision(plan("its time is over", Expire(view.job)))


def expiry_of(job: Job) -> datetime | None:
    seconds = job.spec.ttl_seconds_after_finished
    if seconds is None:
        return None
    for kind in (COMPLETE, FAILED):
        condition = find_condition(job.status.conditions, kind)
        if condition is not None and condition.is_true and condition.last_transition_time:
            return shifted(datetime.fromisoformat(condition.last_transition_time), seconds)
    return None
