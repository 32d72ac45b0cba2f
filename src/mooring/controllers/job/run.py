"""The job controller at work: jobs wake it, and so do their pods."""

import asyncio
from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.job.decide.job import decide
from mooring.controllers.job.effects import Effects
from mooring.controllers.job.view import Backoff, JobView, is_tracked
from mooring.controllers.options import Options
from mooring.controllers.owned_pods.index import OwnedPods
from mooring.model.job import Job
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "job-controller"
"""The reporting component of its events."""

WORKERS = 4


def build(loops: Loops, _: Options) -> None:
    """Add the job controller to the role."""
    jobs, pods = loops.informer(Job), loops.informer(Pod)
    controller = Jobs(loops.client, loops.clock, loops.recorder(COMPONENT), jobs, pods)
    queues = {"job": controller.queue, "job_orphan_pod": controller.orphans}
    loops.add(controller.run, queues)


class Jobs:
    """The informers are shared, and run by the role."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        jobs: Informer[Job],
        pods: Informer[Pod],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self.orphans: KeyedQueue[Key] = KeyedQueue(clock)  # pods that no job will count
        self._clock = clock
        self._jobs = jobs
        self._pods = pods
        self._owned = OwnedPods(jobs, pods)
        self._effects = Effects(client, recorder, jobs, pods)
        jobs.on_change(self._on_job)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        known = (self._jobs, self._pods)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work(known, self.queue, self.reconcile, WORKERS))
            tasks.create_task(work(known, self.orphans, self.reconcile_orphan, 1))

    async def reconcile(self, key: Key) -> Verdict:
        job = self._jobs.get(key)
        if job is None:
            return Settled()
        decision = decide(self._view(job))
        await self._effects.perform(decision.plan)
        return Settled() if decision.again is None else Again(decision.again)

    async def reconcile_orphan(self, key: Key) -> Verdict:
        """A pod with the finalizer whose job is over, or gone: nobody else would free it."""
        pod = self._pods.get(key)
        if pod is not None and is_tracked(pod) and await self._effects.is_over(pod):
            await self._effects.untrack(pod)
        return Settled()

    def _view(self, job: Job) -> JobView:
        backoff = self._effects.backoffs.get(job.uid, Backoff())
        doomed = frozenset(self._effects.owned.doomed)
        return JobView(job, tuple(self._owned.candidates(job)), doomed, backoff, self._clock.now())

    def _on_job(self, before: Job | None, after: Job | None) -> None:
        if after is not None:
            self.queue.add(after.key)
        known = after or before
        if known is not None and (after is None or after.is_finished):
            self._effects.backoffs.pop(known.uid, None)
            for pod in self._owned.of(known.uid):
                self.orphans.add(pod.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        concerned = list(self._owned.concerned(before, after))
        for key in concerned:
            self.queue.add(key)
        if after is not None and is_tracked(after) and not self._is_counted_by(after):
            self.orphans.add(after.key)

    def _is_counted_by(self, pod: Pod) -> bool:
        """Whether a job will count it."""
        owner = pod.metadata.find_controller()
        if owner is None:
            return False
        job = self._jobs.get(Key(pod.namespace, owner.name))
        return job is not None and job.uid == owner.uid and not job.is_finished
