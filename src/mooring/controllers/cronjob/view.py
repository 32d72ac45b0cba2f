"""The view of one cron job: its jobs, and the time."""

from datetime import datetime, tzinfo

import msgspec

from mooring.model.cron_job import CronJob
from mooring.model.job import Job


class CronJobView(msgspec.Struct, frozen=True):
    cron_job: CronJob
    jobs: tuple[Job, ...]  # that it has made
    missing: frozenset[str]  # uids of jobs on its list that the API says are gone
    zone: tzinfo | None  # None: nobody knows the one that it names
    now: datetime
