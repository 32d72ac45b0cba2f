"""The cron job controller at work: cron jobs wake it, their jobs, and the clock."""

from datetime import UTC, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.cronjob.decide import decide
from mooring.controllers.cronjob.effects import Effects
from mooring.controllers.cronjob.view import CronJobView
from mooring.controllers.options import Options
from mooring.model.cron_job import CronJob
from mooring.model.job import Job
from mooring.model.keys import Key
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "cronjob-controller"
"""The reporting component of its events."""

WORKERS = 2
_OWNED = "cronjob: jobs by controller"
LONGEST_WAIT = 3600.0  # a clock that is set is noticed after so many seconds


def build(loops: Loops, _: Options) -> None:
    """Add the cron job controller to the role."""
    cron_jobs, jobs = loops.informer(CronJob), loops.informer(Job)
    recorder = loops.recorder(COMPONENT)
    controller = CronJobs(loops.client, loops.clock, recorder, cron_jobs, jobs)
    loops.add(controller.run, {controller.queue_name: controller.queue})


class CronJobs:
    """The informers are shared, and run by the role."""

    queue_name: Final = "cronjob"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        cron_jobs: Informer[CronJob],
        jobs: Informer[Job],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._cron_jobs = cron_jobs
        self._jobs = jobs
        self._effects = Effects(client, recorder, cron_jobs, jobs)
        jobs.add_index(_OWNED, _controller)
        cron_jobs.on_change(self._on_cron_job)
        jobs.on_change(self._on_job)

    async def run(self) -> None:
        await work((self._cron_jobs, self._jobs), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        cron_job = self._cron_jobs.get(key)
        if cron_job is None:
            return Settled()
        jobs = tuple(self._jobs.by_index(_OWNED, cron_job.uid))
        known = frozenset(job.uid for job in jobs)
        missing = await self._effects.find_missing(cron_job, known)
        zone = find_zone(cron_job.spec.time_zone)
        decision = decide(CronJobView(cron_job, jobs, missing, zone, self._clock.now()))
        await self._effects.perform(decision.plan)
        if decision.again is None:
            return Settled()
        return Again(min(decision.again, LONGEST_WAIT))

    def _on_cron_job(self, _: CronJob | None, after: CronJob | None) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_job(self, before: Job | None, after: Job | None) -> None:
        for job in (before, after):
            if job is None:
                continue
            owner = job.metadata.find_controller()
            if owner is None or owner.kind != CronJob.resource.kind:
                continue
            cron_job = self._cron_jobs.get(Key(job.namespace, owner.name))
            if cron_job is not None and cron_job.uid == owner.uid:
                self.queue.add(cron_job.key)


def find_zone(name: str | None) -> tzinfo | None:
    """UTC when none is named; None when nobody knows it."""
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _controller(job: Job) -> list[str]:
    owner = job.metadata.find_controller()
    return [] if owner is None else [owner.uid]
