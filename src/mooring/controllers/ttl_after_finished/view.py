"""The view of one job, and the time."""

from datetime import datetime

import msgspec

from mooring.model.job import Job


class FinishedView(msgspec.Struct, frozen=True):
    job: Job
    now: datetime
