"""One worker per pod on this node: the order of its set-up and of its tear-down.

A new pod: its directory is made, its volumes are mounted, then its containers may start. A finished
or deleted pod: its containers are stopped, its volumes unmounted, its directory removed, and last
of all, if it is being deleted, its object. A pod that vanished from the API is torn down the same
way.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from mooring import log
from mooring.client.contract import Part, Scope
from mooring.errors import Conflict, HostError, MooringError, NotFound
from mooring.model.backoff import Backoff
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.model.selector import escape_field
from mooring.model.timestamp import to_seconds
from mooring.node.actual import PodMount
from mooring.node.admission.decide import IGNORED, Rules, find_rejection, remarks
from mooring.node.admission.port_clash import CLASH, find_clashes
from mooring.node.pod_directory import PodDirectories
from mooring.node.pods.contract import PodContainers
from mooring.node.pods.status import creating_document, rejected_document
from mooring.node.run import NodeVolumes
from mooring.node.waits import NodeFull, NotMounted, StillMounted
from mooring.reconcile.poison import set_aside
from mooring.reconcile.recorder import reference_to
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.worker import lasting

AGAIN = Backoff(first=0.2, cap=10.0, jitter=0.5)
NODE_FULL = "VolumeAttachmentLimitExceeded"

_log = log.get("mooring.node.pods")


class _Volumes:
    """`PodVolumes` of one pod."""

    def __init__(self, volumes: NodeVolumes, pod: Pod) -> None:
        self._volumes = volumes
        self._pod = pod

    def reach(self) -> Mapping[str, PodMount]:
        return self._volumes.reach(self._pod.uid)

    def groups(self) -> tuple[int, ...]:
        return self._volumes.extra_groups(self._pod)


class Follower(Protocol):
    """Watches the objects shown in pods' volumes: `objects.ApiObjects`."""

    def follow(self, pod: Pod) -> None: ...

    def unfollow(self, pod_uid: str) -> None: ...


class _PodWorker:
    """One pod, from its arrival here to its end."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod  # the newest
        self.is_here = True  # in the API
        self.is_up = False  # its volumes are wanted
        self.changed = asyncio.Event()

    @property
    def is_leaving(self) -> bool:
        return not self.is_here or self.pod.is_deleting or self.pod.is_finished

    @property
    def must_be_deleted(self) -> bool:
        return self.is_here and self.pod.is_deleting

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self.changed.clear()
            await self.changed.wait()


Step = Callable[[_PodWorker], Awaitable[None]]


class PodWorkers:
    """A worker for each pod of this node. `run` runs them until cancelled."""

    def __init__(
        self,
        volumes: NodeVolumes,
        objects: Follower,
        directories: PodDirectories,
        containers: PodContainers,
        host_address: str = "",
        rules: Rules | None = None,
    ) -> None:
        context = volumes.context
        self._client = context.client
        self._clock = context.clock
        self._rng = context.host.rng
        self._recorder = context.recorder
        self._metrics = context.metrics
        self._volumes = volumes
        self._objects = objects
        self._directories = directories
        self._containers = containers
        self._host_address = host_address
        self._rules = rules or Rules()
        self._workers: dict[str, _PodWorker] = {}
        scope = Scope(fields=f"spec.nodeName={escape_field(context.own_node.name)}")
        self.informer = Reflector(self._client, Pod, scope, self._clock, self._rng)
        containers.on_written(self.informer.fold)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self.informer.on_change(self._on_change)
            tasks.create_task(self.informer.run())
            await self.informer.synced.wait()
            await self._containers.keep_only(frozenset(self._workers))
            wanted = [uid for uid, worker in self._workers.items() if self._needs_volumes(worker)]
            self._volumes.first_picture(wanted)

    def knows(self, pod_uid: str) -> bool:
        """Whether the pod is not over here: it will put away itself whatever it has."""
        return pod_uid in self._workers or not self._containers.are_gone(pod_uid)

    def _on_change(self, before: Pod | None, after: Pod | None) -> None:
        if after is None:
            worker = None if before is None else self._workers.get(before.uid)
            if worker is not None:
                worker.is_here = False
                self._containers.vanished(worker.pod)
                worker.changed.set()
            return
        worker = self._workers.get(after.uid)
        if worker is None:
            worker = self._workers[after.uid] = _PodWorker(after)
            work = partial(self._work, worker)
            self._tasks.create_task(lasting("pod workers", self._clock, work, after.key))
            return
        before, worker.pod = worker.pod, after
        self._containers.update(after)
        worker.changed.set()
        if worker.is_up and not worker.is_leaving and _asks_otherwise(before, after):
            self._objects.follow(after)
            self._volumes.want(after)

    def _needs_volumes(self, worker: _PodWorker) -> bool:
        """Also of a pod that ends, while containers from before a restart may still run."""
        return not worker.is_leaving or not self._containers.are_gone(worker.pod.uid)

    # one pod

    async def _work(self, worker: _PodWorker) -> None:
        uid = worker.pod.uid
        if not worker.is_leaving:
            async with asyncio.TaskGroup() as tasks:
                coming = [
                    tasks.create_task(self._guarded(worker, do)) for do in self._first_steps(worker)
                ]
                await worker.until(lambda: worker.is_leaving)
                for task in coming:
                    task.cancel()
        elif self._needs_volumes(worker):
            self._volumes.want(worker.pod)
        await self._guarded(worker, self._go)
        await worker.until(lambda: not worker.is_here or worker.must_be_deleted)
        await self._guarded(worker, self._delete)
        # finalizers of others may keep it for a while
        await worker.until(lambda: not worker.is_here)
        await self._guarded(worker, lambda worker: self._containers.forget(worker.pod))
        del self._workers[uid]

    def _first_steps(self, worker: _PodWorker) -> Sequence[Step]:
        """What a pod that came gets at once, unless it asks for what cannot be had here."""
        rejection = find_rejection(worker.pod, self._rules)
        if rejection is not None:
            return (lambda worker: self._reject(worker, rejection.reason, rejection.message),)
        if (
            not worker.pod.status.container_statuses
        ):  # else the event was recorded before a restart of this node
            for remark in remarks(worker.pod, self._rules):
                self._warn(worker, IGNORED, remark)
            others = (other.pod for other in self._workers.values())
            for told in find_clashes(worker.pod, others):
                self._warn(worker, CLASH, told)
        return (self._come, self._report_creating)

    async def _guarded(self, worker: _PodWorker, do: Step) -> None:
        """Do it, again and again until it works."""
        failures = 0
        while True:
            try:
                await do(worker)
                return
            except NotMounted:
                failures += 1  # its event is recorded already
            except MooringError as error:
                failures += 1
                _log.warning("a pod has to wait", pod=worker.pod.key, because=error)
            except Exception:  # noqa: BLE001  a bug met by one pod must not stop the others
                failures += 1
                set_aside("pod workers", worker.pod.key)
            await self._clock.sleep(AGAIN.delay(failures, self._rng.random()))

    async def _come(self, worker: _PodWorker) -> None:
        """Everything up to running containers."""
        self._objects.follow(worker.pod)
        await self._make_directory(worker)
        worker.is_up = True
        try:
            await self._volumes.mounted(worker.pod)
        except NotMounted as error:
            if not error.has_timed_out:  # else the operations that failed have said why
                self._warn(worker, "FailedMount", f"Unable to attach or mount volumes: {error}")
            raise
        except NodeFull as error:
            await self._reject(worker, NODE_FULL, str(error))
        else:
            await self._containers.start(worker.pod, _Volumes(self._volumes, worker.pod))

    async def _make_directory(self, worker: _PodWorker) -> None:
        try:
            await self._directories.make(worker.pod.uid)
        except HostError as error:
            self._volumes.want(worker.pod)  # what it has from before stays its own
            self._warn(
                worker,
                "FailedToMakePodDataDirectories",
                f"error making pod data directories: {error}",
            )
            raise

    async def _reject(self, worker: _PodWorker, reason: str, message: str) -> None:
        """The pod will never run here; its controller may make another elsewhere."""
        self._warn(worker, reason, message)
        self._metrics.rejected(reason)
        status = rejected_document(reason, message)
        await self._guarded(worker, lambda worker: self._patch_status(worker, status))

    async def _go(self, worker: _PodWorker) -> None:
        """Everything down to an empty place."""
        uid = worker.pod.uid
        await self._containers.stop(worker.pod)
        self._volumes.release(uid)
        while True:
            try:
                await self._volumes.unmounted(uid)
                break
            except StillMounted as error:
                _log.warning("a pod keeps its volumes", pod=worker.pod.key, because=error)
        await self._volumes.gone(uid)
        await self._remove_directory(worker)
        self._objects.unfollow(uid)

    async def _remove_directory(self, worker: _PodWorker) -> None:
        """Nothing is mounted there any more when this returns."""
        try:
            await self._directories.remove(worker.pod.uid)
        except HostError as error:
            # `orphans.py` will try again; the API need not wait for that.
            _log.warning("a pod's directory stays", pod=worker.pod.key, because=error)

    async def _delete(self, worker: _PodWorker) -> None:
        """Let the API forget the pod: nothing of it is left here."""
        if worker.is_here:
            with suppress(NotFound, Conflict):  # deleted or written meanwhile
                await self._client.delete(worker.pod, grace_seconds=0)

    # telling

    async def _report_creating(self, worker: _PodWorker) -> None:
        """Also of a pod whose containers ended while this node was down: its volumes may be long in
        coming, and until then it would be said to run."""
        told = worker.pod.status.container_statuses
        says_it_runs = any(one.state.running is not None for one in told)
        if not told or (says_it_runs and self._containers.are_gone(worker.pod.uid)):
            now = to_seconds(self._clock.now())
            status = creating_document(worker.pod, now, self._host_address)
            await self._patch_status(worker, status)

    async def _patch_status(self, worker: _PodWorker, status: Doc) -> None:
        """Raises: MooringError when it is worth another try, with the newest pod."""
        with suppress(NotFound):  # it is gone, and the watch will say so
            self.informer.fold(await self._client.patch(worker.pod, status, Part.STATUS))

    def _warn(self, worker: _PodWorker, reason: str, message: str) -> None:
        self._recorder.record(reference_to(worker.pod), EventType.WARNING, reason, message)


def _asks_otherwise(before: Pod, after: Pod) -> bool:
    """Whether the change may affect the pod's volumes: its spec, labels or annotations."""
    then, now = before.metadata, after.metadata
    return (
        before.spec != after.spec
        or then.labels != now.labels
        or then.annotations != now.annotations
    )
