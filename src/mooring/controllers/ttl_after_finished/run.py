"""The controller of finished jobs at work: jobs wake it, and the clock."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.ttl_after_finished.decide import decide
from mooring.controllers.ttl_after_finished.effects import Effects
from mooring.controllers.ttl_after_finished.view import FinishedView
from mooring.model.job import Job
from mooring.model.keys import Key
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, work


def build(loops: Loops, _: Options) -> None:
    """Add the controller of finished jobs to the role."""
    controller = FinishedJobs(loops.client, loops.clock, loops.informer(Job))
    loops.add(controller.run, {controller.queue_name: controller.queue})


class FinishedJobs:
    """The informer is shared, and run by the role."""

    queue_name: Final = "ttl_jobs_to_delete"

    def __init__(self, client: Client, clock: Clock, jobs: Informer[Job]) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._jobs = jobs
        self._effects = Effects(client)
        jobs.on_change(self._on_job)

    async def run(self) -> None:
        await work((self._jobs,), self.queue, self.reconcile, 1)

    async def reconcile(self, key: Key) -> Verdict:
        job = self._jobs.get(key)
        if job is None:
            return Settled()
        now = self._clock.now()
        decision = decide(FinishedView(job, now))
        await self._effects.perform(decision.plan, now)
        return Settled() if decision.again is None else Again(decision.again)

    def _on_job(self, _: Job | None, after: Job | None) -> None:
        if after is not None and after.spec.ttl_seconds_after_finished is not None:
            self.queue.add(after.key)
