"""Carrying out plans for cron jobs: jobs are made and deleted, and the status is kept."""

from datetime import UTC
from typing import assert_never

import msgspec
from msgspec.structs import replace

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.cronjob.plan import CreateJob, DeleteJob, Plan, SaveStatus
from mooring.errors import AlreadyExists, ApiError, Forbidden, NotFound
from mooring.model.cron_job import CronJob, CronJobStatus
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.job import Job
from mooring.model.keys import Key
from mooring.model.reference import ObjectReference
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder, reference_to

_log = log.get("mooring.cronjob")


class Effects:
    def __init__(
        self, client: Client, recorder: Recorder, cron_jobs: Informer[CronJob], jobs: Informer[Job]
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._cron_jobs = cron_jobs
        self._jobs = jobs

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails. Raises: what the API said."""
        for step in plan.steps:
            match step:
                case SaveStatus(seen, status):
                    await self._save(seen, status)
                case CreateJob():
                    await self._create(step)
                case DeleteJob(cron_job, job):
                    await self._delete(cron_job, job)
                case Emit():
                    apply(step, self._recorder)
                case other:
                    assert_never(other)

    async def find_missing(self, cron_job: CronJob, known: frozenset[str]) -> frozenset[str]:
        """Of the jobs on its list that the cache does not have, those that are gone."""
        missing: set[str] = set()
        for reference in cron_job.status.active:
            if reference.uid in known:
                continue
            try:
                job = await self._client.get(Job, Key(cron_job.namespace, reference.name))
            except NotFound:
                missing.add(reference.uid)
            else:
                if job.uid != reference.uid:
                    missing.add(reference.uid)
        return frozenset(missing)

    async def _create(self, step: CreateJob) -> None:
        cron_job = step.cron_job
        try:
            job = await self._client.create(Job, step.document)
        except AlreadyExists:
            name = step.document["metadata"]["name"]
            job = await self._client.get(Job, Key(cron_job.namespace, name))
            owner = job.metadata.find_controller()
            if owner is None or owner.uid != cron_job.uid:
                return  # somebody else's
        except ApiError as error:
            if not isinstance(error, Forbidden) or not _is_about_end(error):
                told = f"Error creating job: {error}"
                self._record(cron_job, EventType.WARNING, "FailedCreate", told)
            raise
        else:
            self._record(cron_job, EventType.NORMAL, "SuccessfulCreate", f"Created job {job.name}")
            _log.info("job made", job=job.key, cronjob=cron_job.name)
        self._jobs.fold(job)
        made = replace(
            step.status,
            active=(*step.status.active, ObjectReference.to(job)),
            last_schedule_time=to_seconds(step.at.astimezone(UTC)),
        )
        await self._save(self._cron_jobs.get(cron_job.key) or cron_job, made)

    async def _delete(self, cron_job: CronJob, job: Job) -> None:
        try:
            await self._client.delete(job)
        except NotFound:
            return
        except ApiError as error:
            told = f"Deleted job: {error}"
            self._record(cron_job, EventType.WARNING, "FailedDelete", told)
            raise
        self._record(cron_job, EventType.NORMAL, "SuccessfulDelete", f"Deleted job {job.name}")

    async def _save(self, seen: CronJob, status: CronJobStatus) -> None:
        change: Doc = {
            "active": msgspec.to_builtins(status.active),
            "lastScheduleTime": status.last_schedule_time,
            "lastSuccessfulTime": status.last_successful_time,
        }
        self._cron_jobs.fold(await self._client.patch(seen, {"status": change}, Part.STATUS))

    def _record(self, about: CronJob, type: EventType, reason: str, message: str) -> None:
        self._recorder.record(reference_to(about), type.value, reason, message)


def _is_about_end(error: Forbidden) -> bool:
    causes = error.details.get("causes", ())
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
