"""Carrying out plans for jobs: pods, their finalizer, and the status."""

from contextlib import suppress
from typing import assert_never

import msgspec

from mooring.client.contract import Client, Part
from mooring.controllers.job.plan import (
    AdoptTracked,
    DropPod,
    Plan,
    ReleaseTracked,
    Remember,
    SaveStatus,
    Untrack,
)
from mooring.controllers.job.view import Backoff
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.owned_pods.plan import Adopt, CreatePods, DeletePod, Release
from mooring.errors import Conflict, NotFound
from mooring.model.document import Doc
from mooring.model.job import TRACKING, Job, JobStatus
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder


class Effects:
    def __init__(
        self, client: Client, recorder: Recorder, jobs: Informer[Job], pods: Informer[Pod]
    ) -> None:
        self.backoffs: dict[str, Backoff] = {}  # by the uid of the job
        self.owned = PodEffects(client, recorder, pods)
        self._client = client
        self._recorder = recorder
        self._jobs = jobs
        self._pods = pods

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails. Raises: what the API said."""
        for step in plan.steps:
            match step:
                case SaveStatus(seen, status):
                    change = {"status": _change(seen.status, status)}
                    self._jobs.fold(await self._client.patch(seen, change, Part.STATUS))
                case AdoptTracked():
                    await self._adopt(step)
                case ReleaseTracked(job, pod):
                    owners = {"ownerReferences": Release(job, pod).owners()}
                    await self._write(pod, owners | _untracked(pod))
                case Untrack(pod):
                    await self.untrack(pod)
                case DropPod(job, pod):
                    await self.untrack(pod)
                    known = self._pods.get(pod.key)
                    if known is not None and known.uid == pod.uid:
                        await self.owned.perform(DeletePod(job, known))
                case Remember(job, backoff):
                    self.backoffs[job.uid] = backoff
                case CreatePods() | DeletePod():
                    if not await self.owned.perform(step):
                        return
                case Emit():
                    apply(step, self._recorder)
                case other:
                    assert_never(other)

    async def untrack(self, pod: Pod) -> None:
        """Take the finalizer off, from the pod as it is now."""
        for _ in range(2):
            with suppress(NotFound):
                try:
                    await self._write(pod, _untracked(pod))
                except Conflict:
                    pod = await self._client.get(Pod, pod.key)
                    continue
            return
        raise Conflict(f"pod {pod.key} changes all the time")

    async def is_over(self, pod: Pod) -> bool:
        """Whether no job will count this pod any more: asked of the API."""
        owner = pod.metadata.find_controller()
        if owner is None:
            return True
        if (owner.api_version, owner.kind) != (Job.resource.api_version, Job.resource.kind):
            return False
        try:
            job = await self._client.get(Job, type(pod.key)(pod.namespace, owner.name))
        except NotFound:
            return True
        return job.uid != owner.uid or (job.is_ours and job.is_finished)

    async def _adopt(self, step: AdoptTracked) -> None:
        """The job is asked for first: one that the cache has not seen go must adopt nothing."""
        try:
            live = await self._client.get(Job, step.job.key)
        except NotFound as error:
            raise Conflict(f"Job {step.job.key} is gone") from error
        if live.uid != step.job.uid or live.is_deleting:
            raise Conflict(f"Job {step.job.key} is being deleted")
        finalizers = [*step.pod.metadata.finalizers, TRACKING]
        owners = Adopt(step.job, step.pod).owners()
        await self._write(step.pod, {"ownerReferences": owners, "finalizers": finalizers})

    async def _write(self, pod: Pod, metadata: Doc) -> None:
        with suppress(NotFound):
            self._pods.fold(await self._client.patch(pod, {"metadata": metadata}))


def _untracked(pod: Pod) -> Doc:
    return {"finalizers": [name for name in pod.metadata.finalizers if name != TRACKING]}


def _change(before: JobStatus, after: JobStatus) -> Doc:
    """What to merge; what has become empty has to be said."""
    wanted: Doc = msgspec.to_builtins(after)
    gone = {field: None for field in msgspec.to_builtins(before) if field not in wanted}
    uncounted = after.uncounted
    lists = {"succeeded": list(uncounted.succeeded), "failed": list(uncounted.failed)}
    return {**gone, **wanted, "uncountedTerminatedPods": lists}
