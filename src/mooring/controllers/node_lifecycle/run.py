"""The node lifecycle controller at work: heartbeats put off the look at a node that is due.

A heartbeat costs two look-ups, however many nodes there are; nothing walks over all nodes but the
loss, or the return, of the last ready one.
"""

from math import inf
from typing import Final

import msgspec

from mooring.client.contract import Client, Scope
from mooring.clock import Clock
from mooring.controllers.node_lifecycle.decide import decide, must_ask, needs_turn
from mooring.controllers.node_lifecycle.effects import Effects
from mooring.controllers.node_lifecycle.metrics import NodeMetrics
from mooring.controllers.node_lifecycle.view import (
    LEASE_NAMESPACE,
    READY,
    Monitoring,
    NodeView,
    Silence,
)
from mooring.controllers.node_lifecycle.zones import Turns, Zones, zone_of
from mooring.controllers.options import Options
from mooring.controllers.pods_by_node import index_by_node, pods_on
from mooring.errors import MooringError
from mooring.model.condition import find_condition, is_condition_true
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.timestamp import to_seconds
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder, reference_to
from mooring.reconcile.shared_informer import Selection
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "node-controller"
"""Who its events come from."""

WORKERS = 8
NEW_SECONDS = 1.0  # a node that registers writes its status several times; nobody comes between
HEARTBEATS: Final[Selection[Lease]] = Selection(
    Scope(namespace=LEASE_NAMESPACE), lambda lease: lease.namespace == LEASE_NAMESPACE
)


class Informers(msgspec.Struct, frozen=True):
    nodes: Informer[Node]
    leases: Informer[Lease]
    pods: Informer[Pod]


def build(loops: Loops, options: Options) -> None:
    """Add the node lifecycle controller to the role."""
    known = Informers(loops.informer(Node), loops.informer(Lease, HEARTBEATS), loops.informer(Pod))
    recorder = loops.recorder(COMPONENT)
    controller = NodeLifecycle(loops.client, loops.clock, recorder, known, options.monitoring)
    loops.add(controller.run, {controller.queue_name: controller.queue})
    loops.count(controller.metrics)


class Heartbeat(msgspec.Struct, frozen=True):
    """The marks that a living node leaves; that they change counts, not what they say."""

    posted: str | None = None  # in its Ready condition
    renewed: str | None = None  # in its Lease


class NodeLifecycle:
    """The informers are shared, and somebody else runs them."""

    queue_name: Final = "node_lifecycle_controller"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        known: Informers,
        monitoring: Monitoring,
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._recorder = recorder
        self._known = known
        self._monitoring = monitoring
        self._effects = Effects(client, recorder, known.nodes, known.pods)
        self._heartbeats: dict[str, Heartbeat] = {}
        self._silences: dict[str, Silence] = {}
        self._first_seen: dict[str, float] = {}  # monotonic
        self._graced_from = clock.monotonic()  # no silence counts from before
        self._zones = Zones()
        self.metrics = NodeMetrics(self._zones)
        self._turns = Turns(self._wake)
        index_by_node(known.pods)
        known.nodes.on_change(self._on_node)
        known.leases.on_change(self._on_lease)
        known.pods.on_change(self._on_pod)

    async def run(self) -> None:
        known = (self._known.nodes, self._known.leases, self._known.pods)
        for informer in known:
            await informer.synced.wait()
        self._graced_from = self._clock.monotonic()
        await work(known, self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        node = self._known.nodes.get(key)
        if node is None:
            return Settled()
        view = self._view(node)
        if (left := self._first_seen.get(node.name, 0.0) + NEW_SECONDS - view.now) > 0:
            return Again(left)
        if must_ask(view):
            await self._ask(node)
            view = self._view(self._known.nodes.get(key) or node)
        wait: float | None = None
        node, zone = view.node, zone_of(view.node)
        if needs_turn(view):
            interval = self._zones.tally(zone).interval
            wait = self._turns.take(zone, node.name, interval, view.now)
            view = msgspec.structs.replace(view, may_evict=wait == 0.0)
        else:
            self._turns.leave(zone, node.name)
        again = await self._effects.perform(decide(view))
        self.metrics.emptied[zone] += view.may_evict
        again = min(again, wait or inf)
        return Settled() if again == inf else Again(again)

    async def _ask(self, node: Node) -> None:
        """Read its Lease. While the API does not answer, no node can be heard: the grace begins
        anew. Raises: ApiError, ConnectionLost."""
        try:
            lease = await self._effects.read_lease(node.name)
        except MooringError:
            self._hear(node.name)
            raise
        known = self._heartbeats.get(node.name, Heartbeat())
        if lease is not None and lease.spec.renew_time != known.renewed:
            self._note(node.name, msgspec.structs.replace(known, renewed=lease.spec.renew_time))
            return
        now, silence = self._clock.monotonic(), self._silence(node.name)
        first = now if silence.first_asked is None else silence.first_asked
        self._silences[node.name] = msgspec.structs.replace(
            silence, first_asked=first, last_asked=now
        )

    def _view(self, node: Node) -> NodeView:
        on_it = pods_on(self._known.pods, node.name) if _is_unknown(node) else ()
        return NodeView(
            node,
            self._silence(node.name),
            tuple(pod for pod in on_it if is_condition_true(pod.status.conditions, READY)),
            self._monitoring,
            has_ready_nodes=self._zones.has_ready_nodes,
            may_evict=False,
            now=self._clock.monotonic(),
            wall=to_seconds(self._clock.now()),
        )

    # what is heard of nodes

    def _silence(self, name: str) -> Silence:
        known = self._silences.get(name) or Silence(self._clock.monotonic())
        if known.since < self._graced_from:
            known = Silence(self._graced_from)
        self._silences[name] = known
        return known

    def _hear(self, name: str) -> None:
        self._silences[name] = Silence(self._clock.monotonic())

    def _note(self, name: str, heartbeat: Heartbeat) -> None:
        if self._heartbeats.get(name) != heartbeat:
            self._heartbeats[name] = heartbeat
            self._hear(name)

    def _on_lease(self, before: Lease | None, after: Lease | None) -> None:
        if after is None:
            if before is not None and self._known.nodes.get(Key("", before.name)) is None:
                self._heartbeats.pop(before.name, None)
                self._silences.pop(before.name, None)
            return
        known = self._heartbeats.get(after.name, Heartbeat())
        self._note(after.name, msgspec.structs.replace(known, renewed=after.spec.renew_time))

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        node = before if after is None else after
        if node is None:
            return
        self._follow(node.name, after)
        if after is None:
            self._forget(node)
            return
        if before is None or before.uid != after.uid:
            self._first_seen[after.name] = self._clock.monotonic()
            self._tell(after, "RegisteredNode", f"Registered Node {after.name} in Controller")
        known = self._heartbeats.get(after.name, Heartbeat())
        posted = find_condition(after.status.conditions, READY)
        at = None if posted is None else posted.last_heartbeat_time
        self._note(after.name, msgspec.structs.replace(known, posted=at))
        if before is None or _standing(before) != _standing(after):
            self.queue.add(after.key)

    def _forget(self, node: Node) -> None:
        self._heartbeats.pop(node.name, None)
        self._silences.pop(node.name, None)
        self._first_seen.pop(node.name, None)
        self._tell(node, "RemovingNode", f"Removing Node {node.name} from Controller")

    def _on_pod(self, _: Pod | None, after: Pod | None) -> None:
        """One that says it is ready on a node that nobody has heard of."""
        if after is None or not after.is_scheduled:
            return
        node = self._known.nodes.get(Key("", after.spec.node_name))
        is_ready = is_condition_true(after.status.conditions, READY)
        if is_ready and node is not None and _is_unknown(node):
            self.queue.add(node.key)

    def _follow(self, name: str, node: Node | None) -> None:
        """Count it in its zone; what changes the pace of others wakes them."""
        old, was_up = self._zones.find(name), self._zones.has_ready_nodes
        concerned = {zone for zone in (old, None if node is None else zone_of(node)) if zone}
        paces = {zone: self._zones.tally(zone).interval for zone in concerned}
        self._zones.follow(name, node)
        if old is not None and (node is None or zone_of(node) != old):
            self._turns.leave(old, name)
        for zone, pace in paces.items():
            if self._zones.tally(zone).interval != pace:
                self._turns.look(zone)
        if was_up != self._zones.has_ready_nodes:
            if not was_up:
                self._graced_from = self._clock.monotonic()
            for each in self._known.nodes.all():
                self.queue.add(each.key)

    def _wake(self, name: str) -> None:
        self.queue.add(Key("", name))

    def _tell(self, node: Node, reason: str, words: str) -> None:
        words = f"Node {node.name} event: {words}"
        self._recorder.record(reference_to(node), EventType.NORMAL.value, reason, words)


def _is_unknown(node: Node) -> bool:
    ready = find_condition(node.status.conditions, READY)
    return ready is not None and ready.status == "Unknown"


def _standing(node: Node) -> tuple[object, ...]:
    """What of a node decides its taints, and when it is next looked at."""
    conditions = {(each.type, each.status) for each in node.status.conditions}
    return conditions, node.spec, node.has_left, node.uid
