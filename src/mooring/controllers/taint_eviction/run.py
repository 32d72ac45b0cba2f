"""Eviction by taint at work: nodes whose taints change wake their pods, and so do the timers."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.options import Options
from mooring.controllers.pods_by_node import index_by_node, pods_on
from mooring.controllers.taint_eviction.decide import decide
from mooring.controllers.taint_eviction.effects import Effects
from mooring.controllers.taint_eviction.view import PodView, no_execute
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "taint-eviction-controller"
"""Who its events come from."""

WORKERS = 16


def build(loops: Loops, _: Options) -> None:
    """Add the taint eviction controller to the role."""
    nodes, pods = loops.informer(Node), loops.informer(Pod)
    recorder = loops.recorder(COMPONENT)
    controller = TaintEviction(loops.client, loops.clock, recorder, nodes, pods)
    loops.add(controller.run, {controller.queue_name: controller.queue})
    loops.count(controller.counts)


class TaintEviction:
    """The informers are shared, and somebody else runs them."""

    queue_name: Final = "noexec_taint_pod"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        nodes: Informer[Node],
        pods: Informer[Pod],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._nodes = nodes
        self._pods = pods
        self._effects = Effects(client, recorder, pods)
        self.counts = self._effects.counts
        index_by_node(pods)
        nodes.on_change(self._on_node)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        await work((self._nodes, self._pods), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        pod, timers = self._pods.get(key), self._effects.timers
        if pod is None:
            timers.pop(key, None)
            return Settled()
        await self._effects.perform(decide(self._view(pod)))
        timer = timers.get(key)
        return Settled() if timer is None else Again(timer.due - self._clock.monotonic())

    def _view(self, pod: Pod) -> PodView:
        taints = no_execute(self._nodes.get(Key("", pod.spec.node_name)))
        timer = self._effects.timers.get(pod.key)
        if timer is not None and timer.uid != pod.uid:
            timer = None
        return PodView(pod, taints, timer, self._clock.monotonic(), self._clock.now())

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        node = before if after is None else after
        if node is not None and no_execute(before) != no_execute(after):
            for pod in pods_on(self._pods, node.name):
                self.queue.add(pod.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        pod = before if after is None else after
        if pod is None:
            return
        if pod.key in self._effects.timers or self._is_tainted(after):
            self.queue.add(pod.key)

    def _is_tainted(self, pod: Pod | None) -> bool:
        if pod is None or not pod.is_scheduled:
            return False
        return bool(no_execute(self._nodes.get(Key("", pod.spec.node_name))))
