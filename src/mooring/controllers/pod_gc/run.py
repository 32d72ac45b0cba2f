"""Pod garbage collection at work: pods that are deleted wake it, and nodes that go or are tainted.

Nothing walks over all pods: a node's are found by an index, finished ones are counted as they come.
"""

import asyncio
from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.pod_gc.decide import decide, surplus
from mooring.controllers.pod_gc.effects import Effects
from mooring.controllers.pod_gc.view import (
    COLLECT_SECONDS,
    QUARANTINE_SECONDS,
    Absence,
    PodView,
)
from mooring.controllers.pods_by_node import index_by_node, pods_on
from mooring.model.condition import find_condition
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.timestamp import to_seconds
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, serve

COMPONENT: Final = "pod-garbage-collector"
"""Who its events come from."""

WORKERS = 16
_ALL_FINISHED = Key("", "finished pods")


def build(loops: Loops, options: Options) -> None:
    """Add the pod garbage collector to the role."""
    nodes, pods = loops.informer(Node), loops.informer(Pod)
    recorder = loops.recorder(COMPONENT)
    controller = PodGc(loops.client, loops.clock, recorder, (nodes, pods), options.terminated_pods)
    queues = {
        controller.queue_name: controller.queue,
        controller.nodes_queue_name: controller.nodes_queue,
        controller.finished_queue_name: controller.finished_queue,
    }
    loops.add(controller.run, queues)
    loops.count(controller.counts)


class PodGc:
    """The informers are shared, and somebody else runs them."""

    queue_name: Final = "pod_gc"
    nodes_queue_name: Final = "orphaned_pods_nodes"
    finished_queue_name: Final = "pod_gc_finished"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        known: tuple[Informer[Node], Informer[Pod]],
        most_finished: int,
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)  # of pods
        self.nodes_queue: KeyedQueue[Key] = KeyedQueue(clock)  # of nodes that are not there
        self.finished_queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._nodes, self._pods = known
        self._most_finished = most_finished
        self._effects = Effects(client, recorder, self._pods)
        self.counts = self._effects.counts
        self._missing: dict[str, float] = {}  # since when, by node; monotonic
        self._orphans: set[str] = set()  # uids of pods whose node the API has confirmed to be gone
        self._finished: set[Key] = set()
        index_by_node(self._pods)
        self._nodes.on_change(self._on_node)
        self._pods.on_change(self._on_pod)

    async def run(self) -> None:
        for informer in (self._nodes, self._pods):
            await informer.synced.wait()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))
            tasks.create_task(serve(self.nodes_queue, self.reconcile_node))
            tasks.create_task(serve(self.finished_queue, self.reconcile_finished))

    async def reconcile(self, key: Key) -> Verdict:
        pod = self._pods.get(key)
        if pod is not None:
            await self._effects.perform(decide(self._view(pod)))
        return Settled()

    async def reconcile_node(self, key: Key) -> Verdict:
        """A node that is not there: its pods are orphans when that has lasted, and is confirmed."""
        name, now = key.name, self._clock.monotonic()
        if self._nodes.get(key) is not None or not pods_on(self._pods, name):
            self._missing.pop(name, None)
            return Settled()
        left = self._missing.setdefault(name, now) + QUARANTINE_SECONDS - now
        if left > 0:
            return Again(left)
        if not await self._effects.is_gone(name):
            return Again(QUARANTINE_SECONDS)  # the watch is late
        self._missing.pop(name, None)  # a pod that comes later is no orphan yet
        for pod in pods_on(self._pods, name):
            self._orphans.add(pod.uid)
            self.queue.add(pod.key)
        return Settled()

    async def reconcile_finished(self, _: Key) -> Verdict:
        finished = [pod for key in self._finished if (pod := self._pods.get(key)) is not None]
        for pod in surplus(finished, self._most_finished):
            await self._effects.collect(pod)
        return Settled()

    def _view(self, pod: Pod) -> PodView:
        name = pod.spec.node_name
        node = self._nodes.get(Key("", name)) if name else None
        absence = Absence.NONE
        if name and node is None:
            absence = Absence.CONFIRMED if pod.uid in self._orphans else Absence.NEW
        is_told = pod.uid in self._effects.told
        return PodView(pod, node, absence, is_told, to_seconds(self._clock.now()))

    # what wakes it

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if after is not None:
            self._missing.pop(after.name, None)
            if before is None or _standing(before) != _standing(after):
                for pod in pods_on(self._pods, after.name):
                    self._orphans.discard(pod.uid)
                    if pod.is_deleting:
                        self.queue.add(pod.key)
        elif before is not None:
            self.nodes_queue.add(before.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        self._count(before, after)
        if after is None:
            if before is not None:
                self._effects.told.discard(before.uid)
                self._orphans.discard(before.uid)
            return
        node = after.spec.node_name
        if after.is_deleting or after.uid in self._orphans:
            self.queue.add(after.key)
        if node and self._nodes.get(Key("", node)) is None and after.uid not in self._orphans:
            self.nodes_queue.add(Key("", node))

    def _count(self, before: Pod | None, after: Pod | None) -> None:
        if after is None:
            if before is not None:
                self._finished.discard(before.key)
        elif after.is_finished:
            self._finished.add(after.key)
            if len(self._finished) > self._most_finished:
                self.finished_queue.add_after(_ALL_FINISHED, COLLECT_SECONDS)


def _standing(node: Node) -> tuple[object, ...]:
    """What of a node decides whether it still ends its pods."""
    ready = find_condition(node.status.conditions, "Ready")
    return None if ready is None else ready.status, node.is_out_of_service
