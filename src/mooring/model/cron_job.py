"""CronJob: jobs that are made by the clock."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.reference import ObjectReference
from mooring.model.wire import Wire


class CronJobSpec(Wire, frozen=True):
    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: Mapping[str, Any] = msgspec.field(default_factory=dict)
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class CronJobStatus(Wire, frozen=True):
    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(ApiObject, frozen=True):
    resource: ClassVar = Resource("batch", "v1", "CronJob", "cronjobs", namespaced=True)

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
