"""The AttachDetach controller at work: what wakes it, and what it looks at.

The informers are shared, and somebody else runs them. Nothing is decided before all of them are
synced: a pod that has not arrived yet must not lose its volume.
"""

import asyncio
from collections.abc import Mapping
from math import inf
from typing import Final

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.attachment.actual import Act, Actual, Memory, Spot
from mooring.controllers.attachment.decide import decide
from mooring.controllers.attachment.desired import Desired
from mooring.controllers.attachment.effects import Effects
from mooring.controllers.attachment.metrics import AttachmentMetrics
from mooring.controllers.attachment.rebuild import find_owner
from mooring.controllers.attachment.resolve import (
    CsiVolume,
    NoCsi,
    NotAttached,
    Resolved,
    needs_attaching,
    resolve_claimed,
    resolve_inline,
)
from mooring.controllers.attachment.status import NodeReports
from mooring.controllers.attachment.view import Departure, Place, Policy, VolumeView
from mooring.controllers.options import Options
from mooring.model.attachment import Attachment, AttachmentStatus
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume
from mooring.plugins.csi.attachment_name import CsiName, find_csi_name
from mooring.plugins.csi.attachment_wait import NotYet, judge_attach
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.poison import shielded
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, serve

COMPONENT: Final = "attachdetach-controller"
"""Who its events come from."""

WORKERS = 256  # as many share the writes about nodes
NODE_WORKERS = 32
AS_KUBERNETES = Policy()
_PODS = "attachment: pods by claim"
_ATTACHMENTS = "attachment: by volume"


class Informers(msgspec.Struct, frozen=True):
    pods: Informer[Pod]
    nodes: Informer[Node]
    claims: Informer[Claim]
    volumes: Informer[Volume]
    drivers: Informer[CsiDriver]
    attachments: Informer[Attachment]


def build(loops: Loops, options: Options) -> None:
    """Add the AttachDetach controller to the role."""
    add_controller(loops, options.detaching)


def add_controller(loops: Loops, policy: Policy) -> "AttachDetach":
    known = Informers(
        loops.informer(Pod),
        loops.informer(Node),
        loops.informer(Claim),
        loops.informer(Volume),
        loops.informer(CsiDriver),
        loops.informer(Attachment),
    )
    recorder = loops.recorder(COMPONENT)
    controller = AttachDetach(loops.client, loops.clock, recorder, known, policy)
    queues = {
        controller.queue_name: controller.queue,
        controller.nodes_queue_name: controller.nodes_queue,
    }
    loops.add(controller.run, queues)
    loops.count(controller.metrics)
    return controller


class AttachDetach:
    queue_name: Final = "attachdetach"
    nodes_queue_name: Final = "attachdetach_nodes"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        known: Informers,
        policy: Policy = AS_KUBERNETES,
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)  # of volumes, by unique name
        self._clock = clock
        self._known = known
        self._policy = policy
        self._has_begun = False
        self._departures: dict[str, Departure] = {}  # by node, as long as volumes are there
        self._desired = Desired(self._wake)
        self._actual = Actual(lambda name: known.attachments.get(Key("", name)))
        self._reports = NodeReports(client, clock, known.nodes, self._actual.is_attaching_to)
        self.metrics = AttachmentMetrics(self._desired, self._actual)
        self._effects = Effects(
            client, recorder, known.attachments, self._actual, self._reports, self.metrics
        )
        known.pods.add_index(_PODS, _claims_of_pod)
        known.attachments.add_index(_ATTACHMENTS, _volume_of_attachment)
        known.pods.on_change(self._on_pod)
        known.nodes.on_change(self._on_node)
        known.claims.on_change(self._on_claim)
        known.volumes.on_change(self._on_volume)
        known.drivers.on_change(self._on_driver)
        known.attachments.on_change(self._on_attachment)

    @property
    def nodes_queue(self) -> KeyedQueue[Key]:
        """Of nodes that are to be told something."""
        return self._reports.queue

    async def run(self) -> None:
        for informer in msgspec.structs.astuple(self._known):
            await informer.synced.wait()
        self._begin()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))
            for _ in range(NODE_WORKERS):
                tasks.create_task(serve(self._reports.queue, self._reports.reconcile))

    async def reconcile(self, key: Key) -> Verdict:
        """One volume; what a node answers that was told something is decided on in turn."""
        csi = find_csi_name(key.name)
        if csi is None:
            return Settled()
        again, read = inf, dict[str, Node | None]()
        while True:
            view = self._view(csi, read)
            performed = await self._effects.perform(decide(view), view)
            again = min(again, performed.again)
            if not performed.read:
                return Settled() if again == inf else Again(max(again, 0.0))
            read = dict(performed.read)

    def _view(self, csi: CsiName, read: Mapping[str, Node | None]) -> VolumeView:
        wanted = self._desired.find(csi.unique)
        for node in self._desired.nodes_of(csi.unique):
            self._actual.learn(csi, node)
        nodes = sorted(self._actual.nodes_of(csi.unique))
        places = tuple(self._place(Spot(csi.unique, node), read) for node in nodes)
        named = next((one.attachment.volume_name for one in places if one.attachment), "")
        label = named if wanted is None else wanted.label
        volume = self._known.volumes.get(Key("", label))
        return VolumeView(
            csi.unique,
            csi,
            wanted,
            volume,
            places,
            self._clock.monotonic(),
            self._clock.now(),
            self._policy,
        )

    def _place(self, spot: Spot, read: Mapping[str, Node | None]) -> Place:
        is_read, pods = spot.node in read, self._desired.pods_on(spot.volume, spot.node)
        node = read[spot.node] if is_read else self._known.nodes.get(Key("", spot.node))
        return Place(
            spot,
            node,
            is_read,
            self._actual.attachment(spot),
            self._reports.has(spot),
            tuple(pods.values()),
            self._actual.memory(spot),
            is_managed=node is not None and self._reports.serves(spot.node),
            is_ours=self._actual.is_ours(spot),
            departure=self._departures.get(spot.node),
        )

    # what wakes it

    def _begin(self) -> None:
        """All is known that was there: take it in at once."""
        self._has_begun = True
        for node in self._known.nodes.all():
            shielded(node.key, self._take_over, node)
        for attachment in self._known.attachments.all():
            shielded(attachment.key, self._on_attachment, None, attachment)
        for pod in self._known.pods.all():
            shielded(pod.key, self._on_pod, None, pod)

    def _wake(self, volume: str) -> None:
        self.queue.add(Key("", volume))

    def _take_over(self, node: Node) -> None:
        """What the node was told before us."""
        for volume in self._reports.take_over(node):
            if (csi := find_csi_name(volume)) is not None:
                self._actual.use(self._actual.learn(csi, node.name))
                self._wake(volume)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        if not self._has_begun:
            return
        if after is None:
            if before is not None:
                self._desired.drop(before.uid)
        elif not after.is_scheduled:
            pass
        elif after.is_terminated:
            self._desired.drop(after.uid)
        elif before is None or not before.is_scheduled or before.is_terminated:
            self._want(after)

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        if after is None or not self._has_begun:
            return
        if before is None or _binding(before) != _binding(after):
            self._want_all(after.key)

    def _on_volume(self, before: Volume | None, after: Volume | None) -> None:
        """Pods whose claim came first, and attachments whose volume comes second."""
        if after is None or not self._has_begun:
            return
        if before is not None and before.spec == after.spec:
            return
        if after.spec.claim_ref is not None:
            self._want_all(after.spec.claim_ref.key)
        for attachment in self._known.attachments.by_index(_ATTACHMENTS, after.name):
            self._on_attachment(None, attachment)

    def _on_driver(self, before: CsiDriver | None, after: CsiDriver | None) -> None:
        if self._has_begun and needs_attaching(before) != needs_attaching(after):
            for pod in list(self._desired.pods()):
                self._want(pod)

    def _on_attachment(self, before: Attachment | None, after: Attachment | None) -> None:
        attachment = before if after is None else after
        if attachment is None or not self._has_begun:
            return
        spot = self._actual.find_spot(attachment.name)
        if spot is None:
            volume = self._known.volumes.get(Key("", attachment.volume_name))
            csi = find_owner(attachment, volume)
            if csi is None:
                return
            spot = self._actual.learn(csi, attachment.spec.node_name)
        if after is None or _tells(before, after, self._actual.memory(spot)):
            self._wake(spot.volume)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if not self._has_begun:
            return
        if after is not None:
            if not self._reports.serves(after.name):
                self._take_over(after)
            if after.is_ready:  # it speaks for its machine
                self._departures.pop(after.name, None)
            self._reports.check(after)
        elif before is not None:
            self._note_departure(before)
            self._reports.gone(before.name)
        if before is None or after is None or _standing(before) != _standing(after):
            node = before if after is None else after
            for volume in list(self._actual.volumes_on("" if node is None else node.name)):
                self._wake(volume)
            return
        was, now = before.status.volumes_in_use, after.status.volumes_in_use
        if was != now:
            here = self._actual.volumes_on(after.name)
            for volume in {*was} ^ {*now}:
                if volume in here:
                    self._wake(volume)

    def _note_departure(self, node: Node) -> None:
        """A list shows that a node is gone, but not what it said in the end."""
        for name in [name for name in self._departures if not self._actual.volumes_on(name)]:
            del self._departures[name]
        if not self._actual.volumes_on(node.name):
            return
        missed = self._known.nodes.is_catching_up
        in_use = None if missed else frozenset(node.status.volumes_in_use)
        earlier = self._departures.get(node.name)
        if earlier is not None:  # a Node in between that never became ready has said nothing
            in_use = None if earlier.in_use is None or in_use is None else earlier.in_use | in_use
        self._departures[node.name] = Departure(self._clock.monotonic(), in_use)

    # what pods want

    def _want_all(self, claim: Key) -> None:
        for pod in self._known.pods.by_index(_PODS, claim):
            if pod.is_scheduled and not pod.is_terminated:
                self._want(pod)

    def _want(self, pod: Pod) -> None:
        found = {outer.name: self._resolve(pod, outer) for outer in pod.spec.volumes}
        if not all(isinstance(one, NoCsi) for one in found.values()):
            self._desired.want(pod, found)

    def _resolve(self, pod: Pod, outer: PodVolume) -> Resolved:
        claim_name = pod.find_claim_name(outer)
        if claim_name is None:
            found: Resolved = resolve_inline(outer, pod.namespace)
        else:
            claim = self._known.claims.get(Key(pod.namespace, claim_name))
            named = "" if claim is None else claim.spec.volume_name
            volume = self._known.volumes.get(Key("", named))
            found = resolve_claimed(pod, outer, claim, volume)
        if isinstance(found, CsiVolume):
            driver = self._known.drivers.get(Key("", found.csi.driver))
            if not needs_attaching(driver):
                return NotAttached(found.csi.driver)
        return found


def _claims_of_pod(pod: Pod) -> list[Key]:
    return [Key(pod.namespace, name) for name in pod.claim_names()]


def _volume_of_attachment(attachment: Attachment) -> tuple[str, ...]:
    return (attachment.volume_name,) if attachment.volume_name else ()


def _tells(before: Attachment | None, after: Attachment, memory: Memory) -> bool:
    """Whether a change of an attachment is an answer; its own creation is none to who asked."""
    if before is not None:
        return _answer(before) != _answer(after)
    attempt = memory.attempt
    is_asked = attempt is not None and attempt.act is Act.ATTACH
    return not is_asked or not isinstance(judge_attach(after), NotYet)


def _answer(attachment: Attachment) -> tuple[bool, AttachmentStatus]:
    return attachment.is_deleting, attachment.status


def _binding(claim: Claim) -> tuple[str, str]:
    return claim.status.phase.value, claim.spec.volume_name


def _standing(node: Node) -> tuple[bool, bool, bool]:
    """What of a node decides whether volumes come to it, and are taken from it."""
    return node.is_ready, node.is_out_of_service, node.leaves_attaching_to_controller
