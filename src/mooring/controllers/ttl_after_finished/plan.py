"""The one step that a plan may hold."""

from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.job import Job


class Expire(msgspec.Struct, frozen=True):
    """Delete the job, if the API still says that its time is over."""

    job: Job


Plan: TypeAlias = steps.Plan[Expire]


class Decision(msgspec.Struct, frozen=True):
    plan: Plan
    again: float | None = None  # seconds until its time is over
