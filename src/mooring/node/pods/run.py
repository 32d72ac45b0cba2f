"""The containers of this node's pods: started, probed, ended, and reported in the pods' status.

Nothing here runs periodically, except for probes and log rotation. A pod that changed, a container
that ended, an operation that is done, a back-off that is over: each puts the pod's uid into a
queue, and the pod is reconciled. Status is written from a queue of its own, so that no container
waits for an API server that is away.
"""

import asyncio
from collections.abc import Callable, Collection
from functools import partial

import msgspec

from mooring import log
from mooring.errors import MooringError
from mooring.host.blocking import in_thread
from mooring.model.backoff import Backoff
from mooring.model.pod import Pod
from mooring.node.context import NodeContext
from mooring.node.pods.actions import Actions
from mooring.node.pods.container_spec import ContainerSettings, SpecWriter
from mooring.node.pods.contract import PodVolumes
from mooring.node.pods.decide import decide
from mooring.node.pods.effects import Effects
from mooring.node.pods.environment import EnvironmentSources
from mooring.node.pods.events import PodEvents
from mooring.node.pods.hooks import Hooks
from mooring.node.pods.image_volumes import ImageVolumes
from mooring.node.pods.log_rotation import LogRotation
from mooring.node.pods.operations import Operations
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.pod_images import PodImages, Pulls
from mooring.node.pods.pod_run import PodRun
from mooring.node.pods.probe_workers import ProbeWorkers
from mooring.node.pods.probes import Probes
from mooring.node.pods.pull_secrets import PullSecrets
from mooring.node.pods.status import DEADLINE_EXCEEDED, DEADLINE_TEXT
from mooring.node.pods.status_writer import StatusWriter
from mooring.node.pods.storage import PodStorage, measure
from mooring.node.pods.user_ranges import UserRanges
from mooring.node.pods.view import View
from mooring.node.pods.waiting_reason import OF_IMAGES
from mooring.oci.contract import Containers, Found, Images, State
from mooring.reconcile.cache import version_of
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, lasting, serve

WORKERS = 4
STATUS_WORKERS = 8
REMOVE_AGAIN = Backoff(first=1.0, cap=60.0)

_log = log.get("mooring.node.pods")


class Runtime(msgspec.Struct, frozen=True):
    """What containers are made with."""

    containers: Containers
    images: Images
    pulls: Pulls | None = None  # None: nothing is pulled


class PodRuns:
    """`PodContainers` on a runtime. `run` runs it until cancelled; containers go on without it."""

    def __init__(self, context: NodeContext, runtime: Runtime, settings: ContainerSettings) -> None:
        host, clock, rng = context.host, context.clock, context.host.rng
        self._clock = clock
        self._containers = runtime.containers
        self._paths = PodPaths(host.layout)
        self._events = PodEvents(context.recorder)
        images = PodImages(
            runtime.images,
            runtime.pulls,
            PullSecrets(host.objects, self._events),
            self._events,
            clock,
            host_rootfs=settings.host_rootfs,
        )
        self._image_volumes = ImageVolumes(self._paths, host.mounts, images)
        actions = Actions(self._containers, clock, settings.address)
        surroundings = EnvironmentSources(host.objects, settings.address, settings.services)
        self._user_ranges = UserRanges(self._containers)
        specs = SpecWriter(
            settings,
            self._paths,
            host.mounts,
            surroundings,
            self._image_volumes,
            self._user_ranges,
        )
        self._effects = Effects(
            self._containers,
            images,
            specs,
            Hooks(actions, clock),
            self._events,
            clock,
        )
        self._operations = Operations(
            self._containers,
            self._effects,
            self._events,
            self._paths,
            clock,
            rng,
            self._look_at,
        )
        probes = Probes(actions, clock, rng, self._events)
        self._probe_workers = ProbeWorkers(probes, clock, self._look_at)
        self._status = StatusWriter(
            context.client, clock, self._paths, settings.address, self._view
        )
        self._rotation = LogRotation(self._containers, clock)
        self.queue: KeyedQueue[str] = KeyedQueue(clock)
        self.status_queue: KeyedQueue[str] = KeyedQueue(clock)
        self._runs: dict[str, PodRun] = {}
        self._containers.on_change(self._on_end)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self._reconcile))
            for _ in range(STATUS_WORKERS):
                tasks.create_task(serve(self.status_queue, self._report))
            tasks.create_task(lasting("log rotation", self._clock, self._rotation.run))

    def on_written(self, handler: Callable[[Pod], None]) -> None:
        """`handler` is given pods whose status has been written."""
        self._status.on_written(handler)

    # what pod workers ask for

    async def start(self, pod: Pod, volumes: PodVolumes) -> None:
        """The pod's volumes are there: run its containers, and keep them running."""
        run = self._run_of(pod)
        run.volumes = volumes
        self._look_at(run)

    def update(self, pod: Pod) -> None:
        """The pod is otherwise than before."""
        run = self._runs.get(pod.uid)
        if run is None or version_of(pod) < version_of(run.pod):
            return
        before, run.pod = run.pod, pod
        grace = pod.metadata.deletion_grace_period_seconds
        if grace is not None and grace != before.metadata.deletion_grace_period_seconds:
            for operation in run.operations.values():
                operation.grace.shorten(grace)
        _wait_no_more(run, _with_other_images(before, pod))
        if _asks_otherwise(before, pod):
            self._look_at(run)

    def vanished(self, pod: Pod) -> None:
        """The API has forgotten the pod: it ends without delay."""
        run = self._run_of(pod)
        run.has_vanished = True
        for operation in run.operations.values():
            operation.grace.shorten(0)

    async def stop(self, pod: Pod) -> None:
        """Returns when no container of the pod runs, and its status says so.

        Raises: HostError, ApiError, ConnectionLost; asked again, it goes on.
        """
        run = self._run_of(pod)
        run.is_ending = True
        self._operations.cancel_starts(run)
        self._look_at(run)
        await run.empty.wait()
        await self._image_volumes.take_away(pod.uid)
        if not run.has_vanished and self._view(run).found:
            await self._status.write(run)

    def are_gone(self, pod_uid: str) -> bool:
        """Whether none of its containers runs; those that have ended keep their logs."""
        return all(one.state is State.EXITED for one in self._of(pod_uid))

    async def storage(self, pod: Pod) -> PodStorage:
        """What its containers use of the node's disk. Raises: HostError."""
        return await measure(pod, self._containers, self._paths)

    async def forget(self, pod: Pod) -> None:
        """The pod is gone: nothing of it is asked for any more, not even its logs.

        Raises: RuntimeRefused, HostError when something is left.
        """
        run = self._runs.pop(pod.uid, None)
        if run is not None:
            self._probe_workers.stop(run)
        self._effects.forget(pod.uid)
        for one in self._of(pod.uid):
            await self._containers.remove(one.id)
        self._user_ranges.forget(pod.uid)
        await in_thread(self._paths.remove_logs, pod.uid)

    async def keep_only(self, pod_uids: Collection[str]) -> None:
        """Remove the containers of all other pods, which were deleted while the node was down.

        Returns once they are gone: their volumes must not be unmounted before.
        """
        left = await in_thread(self._paths.list_pods)
        left |= {one.owner.pod_uid for one in self._containers.list()}
        async with asyncio.TaskGroup() as tasks:
            for pod_uid in left.difference(pod_uids):
                see_off = partial(self._see_off, pod_uid)
                tasks.create_task(lasting("gone pods", self._clock, see_off, pod_uid))

    def images_changed(self) -> None:
        """Images were imported or removed: pods that wait for one are reconciled."""
        for run in self._runs.values():
            if _wait_no_more(run, run.waiting_reasons.keys()):
                self._look_at(run)

    # one pod

    async def _reconcile(self, pod_uid: str) -> Verdict:
        run = self._runs.get(pod_uid)
        if run is None:
            return Settled()
        view = self._view(run)
        self._probe_workers.look(run, view, self._tasks)
        plan = decide(view)
        for step in plan.steps:
            _log.debug("step", pod=run.pod.key, step=type(step).__name__, because=plan.because)
            self._operations.begin(run, step, self._tasks)
        if view.is_overdue and not run.is_told_overdue:
            run.is_told_overdue = True
            self._operations.cancel_starts(run)  # one may wait for an image
            self._events.normal(run.pod, None, DEADLINE_EXCEEDED, DEADLINE_TEXT)
        if run.is_ending and plan.is_over and not run.operations:
            run.empty.set()
        elif run.volumes is not None:
            self._rotation.wake()
            self.status_queue.add(pod_uid)
        if plan.look_at is None:
            return Settled()
        return Again(max(0.0, plan.look_at - view.now))

    async def _report(self, pod_uid: str) -> Verdict:
        run = self._runs.get(pod_uid)
        if run is None or run.has_vanished:
            return Settled()
        if (run.pod.is_deleting or run.is_ending) and not run.operations:
            return Settled()  # it is about to end, and `stop` reports the end
        seconds = self._status.hold(run)
        if seconds > 0:
            return Again(seconds)
        await self._status.write(run)
        return Settled()

    def _run_of(self, pod: Pod) -> PodRun:
        run = self._runs.get(pod.uid)
        if run is None:
            run = self._runs[pod.uid] = PodRun(pod, self._clock)
            run.adopt(self._of(pod.uid))
        return run

    def _view(self, run: PodRun) -> View:
        return run.view(self._containers)

    def _of(self, pod_uid: str) -> list[Found]:
        return [one for one in self._containers.list() if one.owner.pod_uid == pod_uid]

    def _look_at(self, run: PodRun) -> None:
        self.queue.add(run.pod.uid)

    def _on_end(self, found: Found) -> None:
        run = self._runs.get(found.owner.pod_uid)
        if run is not None:
            run.note_end(found)
            run.stir()
            self._look_at(run)

    async def _see_off(self, pod_uid: str) -> None:
        """Clean up after a pod that is gone."""
        failures = 0
        while True:
            try:
                for one in self._of(pod_uid):
                    await self._containers.remove(one.id)
                await self._image_volumes.take_away(pod_uid)
                await in_thread(self._paths.remove_logs, pod_uid)
                return
            except MooringError as error:
                failures += 1
                _log.warning("containers of a gone pod stay", pod=pod_uid, because=error)
            await self._clock.sleep(REMOVE_AGAIN.delay(failures))


def _wait_no_more(run: PodRun, names: Collection[str]) -> bool:
    """Whether any of these containers waited for its image."""
    waits = run.waiting_reasons
    waiting = [name for name in names if name in waits and waits[name].reason in OF_IMAGES]
    for name in waiting:
        del waits[name]
    return bool(waiting)


def _with_other_images(before: Pod, after: Pod) -> set[str]:
    """The containers whose image has been changed."""
    images = {one.name: one.image for one in before.spec.all_containers}
    return {one.name for one in after.spec.all_containers if images.get(one.name) != one.image}


def _asks_otherwise(before: Pod, after: Pod) -> bool:
    """Whether the change needs a reconcile or a status update."""
    gates = {gate.condition_type for gate in after.spec.readiness_gates}
    then = [one for one in before.status.conditions if one.type in gates]
    now = [one for one in after.status.conditions if one.type in gates]
    return (
        before.spec != after.spec
        or before.metadata.generation != after.metadata.generation
        or before.is_deleting != after.is_deleting
        or then != now
    )
