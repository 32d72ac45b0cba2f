"""Which job a cron job makes now, and which of its old ones go.

Always true of a plan:

- At most one job is made, of the latest time that is due; none for a time before the last one.
- None is made while the cron job is suspended or being deleted, or after the starting deadline;
  with `Forbid`, none while another runs; with `Replace`, those that run are deleted before.
- Of finished jobs the latest are kept, as many as the limits say.
"""

from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime
from email.utils import format_datetime

from msgspec.structs import replace

from mooring.controllers.cronjob.plan import (
    CreateJob,
    Decision,
    DeleteJob,
    SaveStatus,
    Step,
)
from mooring.controllers.cronjob.schedule_times import Due, find_due, seconds_until_next
from mooring.controllers.cronjob.view import CronJobView
from mooring.controllers.owned_pods.ownership import reference_of
from mooring.model import cron
from mooring.model.cron import Schedule
from mooring.model.cron_job import CronJob, CronJobStatus
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.job import COMPLETE, FAILED, Job
from mooring.model.steps import Emit, plan
from mooring.model.timestamp import shifted, to_seconds

_LONGEST = 10 * 366 * 86400  # seconds; what is further away makes no sense
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def decide(view: CronJobView) -> Decision:
    cron_job = view.cron_job
    old = _surplus(view)
    steps: list[Step] = [DeleteJob(cron_job, job) for job in old]
    status, events = _seen(view, {job.uid for job in old})
    steps += events
    saved: list[Step] = [SaveStatus(cron_job, status)] if status != cron_job.status else []
    if cron_job.is_deleting:
        return Decision(plan("it is on its way out", *steps, *saved))
    if view.zone is None:
        zone = cron_job.spec.time_zone
        told = f'invalid timeZone: "{zone}": unknown time zone {zone}'
        event = Emit(cron_job, EventType.WARNING, "UnknownTimeZone", told)
        return Decision(plan(told, *steps, *saved, event))
    if cron_job.spec.suspend:
        return Decision(plan("it is suspended", *steps, *saved))
    try:
        schedule = cron.parse(cron_job.spec.schedule)
    except ValueError as error:
        told = f'unparseable schedule: "{cron_job.spec.schedule}" : {error}'
        event = Emit(cron_job, EventType.WARNING, "UnparseableSchedule", told)
        return Decision(plan(told, *steps, *saved, event))
    return _scheduled(view, schedule, status, [*steps, *saved])


def _scheduled(
    view: CronJobView, schedule: Schedule, status: CronJobStatus, steps: list[Step]
) -> Decision:
    cron_job = view.cron_job
    since, now = _since(view), view.now.astimezone(view.zone)
    deadline = cron_job.spec.starting_deadline_seconds
    latest = since if deadline is None else max(since, shifted(now, -min(deadline, _LONGEST)))
    again = seconds_until_next(schedule, since, now)
    try:
        due = find_due(schedule, latest, now)
    except ValueError as error:
        told = f"invalid schedule: {cron_job.spec.schedule} : {error}"
        event = Emit(cron_job, EventType.WARNING, "InvalidSchedule", told)
        return Decision(plan(told, *steps, event))
    if due.at is None:
        return Decision(plan("nothing is due", *steps), again)
    steps += _warnings(cron_job, due)
    if deadline is not None and shifted(due.at, deadline) < now:
        told = f"Missed scheduled time to start a job: {_rfc1123(due.at)}"
        event = Emit(cron_job, EventType.WARNING, "MissSchedule", told)
        return Decision(plan(told, *steps, event), again)
    if _is_made(cron_job, status, due.at):
        return Decision(plan("the job of this time is made", *steps), again)
    if cron_job.spec.concurrency_policy == "Forbid" and status.active:
        told = (
            "Not starting job because prior execution is running and concurrency policy is Forbid"
        )
        event = Emit(cron_job, EventType.NORMAL, "JobAlreadyActive", told)
        return Decision(plan(told, *steps, event), again)
    if cron_job.spec.concurrency_policy == "Replace":
        running = {reference.uid for reference in status.active}
        steps += (DeleteJob(cron_job, job) for job in view.jobs if job.uid in running)
        status = replace(status, active=())
    document = job_of(cron_job, due.at)
    return Decision(
        plan("its time has come", *steps, CreateJob(cron_job, document, due.at, status)),
        seconds_until_next(schedule, due.at, now),
    )


def job_of(cron_job: CronJob, at: datetime) -> Doc:
    """The job of this time, which is in the time zone of the cron job."""
    template = deepcopy(dict(cron_job.spec.job_template))
    given = template.get("metadata") or {}
    moment = at.isoformat(timespec="seconds").replace("+00:00", "Z")
    metadata: Doc = {
        "name": job_name(cron_job, at),
        "namespace": cron_job.namespace,
        "annotations": {**(given.get("annotations") or {}), SCHEDULED_AT: moment},
        "ownerReferences": [reference_of(cron_job)],
    }
    if labels := given.get("labels"):
        metadata["labels"] = labels
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }


def job_name(cron_job: CronJob, at: datetime) -> str:
    return f"{cron_job.name}-{int(at.timestamp()) // 60}"


def _since(view: CronJobView) -> datetime:
    """The last time that was served; before the first, when the cron job was made."""
    said = view.cron_job.status.last_schedule_time or view.cron_job.metadata.creation_timestamp
    moment = datetime.fromisoformat(said) if said else view.now
    earliest, latest = shifted(view.now, -_LONGEST), shifted(view.now, _LONGEST)
    return max(earliest, min(moment, latest)).astimezone(view.zone)


def _is_made(cron_job: CronJob, status: CronJobStatus, at: datetime) -> bool:
    name = job_name(cron_job, at)
    is_listed = any(reference.name == name for reference in status.active)
    return is_listed or status.last_schedule_time == to_seconds(at.astimezone(UTC))


def _warnings(cron_job: CronJob, due: Due) -> Iterable[Emit]:
    if due.missed_many:
        told = (
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
            "clock skew"
        )
        yield Emit(cron_job, EventType.WARNING, "TooManyMissedTimes", told)


def _rfc1123(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC))


def _seen(view: CronJobView, deleted: set[str]) -> tuple[CronJobStatus, list[Step]]:
    """The status after a look at the jobs, and what is to be told of them."""
    cron_job, status = view.cron_job, view.cron_job.status
    events: list[Step] = []
    active = {reference.uid: reference for reference in status.active}
    last = status.last_successful_time
    for job in view.jobs:
        if job.is_finished:
            if active.pop(job.uid, None) is not None:
                kind = COMPLETE if job.status.has(COMPLETE) else FAILED
                told = f"Saw completed job: {job.name}, condition: {kind}"
                events.append(Emit(cron_job, EventType.NORMAL, "SawCompletedJob", told))
            if job.status.has(COMPLETE) and job.status.completion_time:
                last = max(last or "", job.status.completion_time)
        elif job.uid not in active and job.uid not in deleted:
            told = f"Saw a job that the controller did not create or forgot: {job.name}"
            events.append(Emit(cron_job, EventType.WARNING, "UnexpectedJob", told))
    for uid in view.missing & active.keys():
        told = f"Active job went missing: {active.pop(uid).name}"
        events.append(Emit(cron_job, EventType.NORMAL, "MissingJob", told))
    kept = tuple(active.values())
    return replace(status, active=kept, last_successful_time=last), events


def _surplus(view: CronJobView) -> list[Job]:
    spec = view.cron_job.spec
    old: list[Job] = []
    for condition, most in (
        (COMPLETE, spec.successful_jobs_history_limit),
        (FAILED, spec.failed_jobs_history_limit),
    ):
        finished = [job for job in view.jobs if job.status.has(condition) and not job.is_deleting]
        if most is not None and len(finished) > most:
            old += sorted(finished, key=_start)[: len(finished) - most]
    return old


def _start(job: Job) -> tuple[bool, str, str]:
    """Those that have not started come last."""
    start = job.status.start_time
    return start is None, start or "", job.name
