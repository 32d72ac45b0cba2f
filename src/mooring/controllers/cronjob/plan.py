"""The steps that a plan for a cron job may hold."""

from datetime import datetime
from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.cron_job import CronJob, CronJobStatus
from mooring.model.document import Doc
from mooring.model.job import Job
from mooring.model.steps import Emit


class SaveStatus(msgspec.Struct, frozen=True):
    seen: CronJob
    status: CronJobStatus


class CreateJob(msgspec.Struct, frozen=True):
    """Make the job of this time, and put it on the list of `status`."""

    cron_job: CronJob
    document: Doc
    at: datetime
    status: CronJobStatus


class DeleteJob(msgspec.Struct, frozen=True):
    cron_job: CronJob
    job: Job


Step = SaveStatus | CreateJob | DeleteJob | Emit
Plan: TypeAlias = steps.Plan[Step]


class Decision(msgspec.Struct, frozen=True):
    plan: Plan
    again: float | None = None  # seconds until the next time
