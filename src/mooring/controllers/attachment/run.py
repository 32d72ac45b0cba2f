"""The AttachDetach controller at work: what it is built from, and what it looks at.

Nothing is decided before all informers are synced: a pod that has not arrived yet must not lose its
volume.
"""

import asyncio
from collections.abc import Mapping
from math import inf
from typing import Final

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.attachment.actual import Actual, VolumeOnNode
from mooring.controllers.attachment.caches import Informers
from mooring.controllers.attachment.decide import decide
from mooring.controllers.attachment.departures import Departures
from mooring.controllers.attachment.desired import Desired
from mooring.controllers.attachment.effects import Effects
from mooring.controllers.attachment.event_handlers import AttachDetachEventHandlers
from mooring.controllers.attachment.flex import FlexAttachments
from mooring.controllers.attachment.metrics import AttachmentMetrics
from mooring.controllers.attachment.status import NodeReports
from mooring.controllers.attachment.verify import FlexVerification
from mooring.controllers.attachment.view import Policy, VolumeOnNodeView, VolumeView
from mooring.controllers.attachment.volume_name import VolumeName, find_volume_name
from mooring.controllers.options import Options
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.plugins.flex.drivers import Drivers
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, lasting, serve

COMPONENT: Final = "attachdetach-controller"
"""The reporting component of its events."""

WORKERS = 256  # as many share the writes about nodes
NODE_WORKERS = 32
AS_KUBERNETES = Policy()


def build(loops: Loops, options: Options) -> None:
    """Add the AttachDetach controller to the role."""
    policy = msgspec.structs.replace(options.detaching, release=options.release)
    add_controller(loops, policy, options.flex)


def add_controller(loops: Loops, policy: Policy, flex: Drivers | None = None) -> "AttachDetach":
    known = Informers(
        loops.informer(Pod),
        loops.informer(Node),
        loops.informer(Claim),
        loops.informer(Volume),
        loops.informer(CsiDriver),
        loops.informer(Attachment),
    )
    recorder = loops.recorder(COMPONENT)
    controller = AttachDetach(loops.client, loops.clock, recorder, known, policy, flex)
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
        flex: Drivers | None = None,
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)  # of volumes, by unique name
        self._clock = clock
        self._known = known
        self._policy = policy
        self._desired = Desired(self._wake)
        self._flex = FlexAttachments(flex)
        self._verification = FlexVerification(clock, self._desired, self._flex, self._wake)
        self._actual = Actual(self._find)
        self._departures = Departures(clock, self._actual)
        self._reports = NodeReports(client, clock, known.nodes, self._actual.is_attaching_to)
        self.metrics = AttachmentMetrics(self._desired, self._actual)
        self._effects = Effects(
            client,
            recorder,
            known.attachments,
            self._actual,
            self._reports,
            self.metrics,
            self._flex,
        )
        self._handlers = AttachDetachEventHandlers(
            known,
            self.queue,
            self._desired,
            self._actual,
            self._reports,
            self._departures,
            self._flex,
        )
        self._handlers.listen()

    @property
    def nodes_queue(self) -> KeyedQueue[Key]:
        """Of nodes whose list of attached volumes is to be written."""
        return self._reports.queue

    async def run(self) -> None:
        for informer in self._known.all():
            await informer.synced.wait()
        await self._flex.known()
        with self._flex.heard(self._handlers.on_flex_driver):
            await self._handlers.begin()
            await self._serve()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))
            for _ in range(NODE_WORKERS):
                tasks.create_task(serve(self._reports.queue, self._reports.reconcile))
            tasks.create_task(lasting("verification", self._clock, self._verification.run))

    async def reconcile(self, key: Key) -> Verdict:
        """One volume; what a node says from which it was withdrawn is decided on in turn."""
        csi = find_volume_name(key.name)
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

    def _wake(self, volume: str) -> None:
        self.queue.add(Key("", volume))

    def _find(self, attachment: str) -> Attachment | None:
        return self._flex.find(attachment) or self._known.attachments.get(Key("", attachment))

    def _view(self, csi: VolumeName, read: Mapping[str, Node | None]) -> VolumeView:
        wanted = self._desired.find(csi.unique)
        for node in self._desired.nodes_of(csi.unique):
            self._actual.learn(csi, node)
        nodes = sorted(self._actual.nodes_of(csi.unique))
        on_nodes = tuple(self._view_on_node(VolumeOnNode(csi.unique, node), read) for node in nodes)
        named = next((one.attachment.volume_name for one in on_nodes if one.attachment), "")
        label = named if wanted is None else wanted.label
        volume = self._known.volumes.get(Key("", label))
        return VolumeView(
            csi.unique,
            csi,
            wanted,
            volume,
            on_nodes,
            self._clock.monotonic(),
            self._clock.now(),
            self._policy,
        )

    def _view_on_node(
        self, where: VolumeOnNode, read: Mapping[str, Node | None]
    ) -> VolumeOnNodeView:
        is_read, pods = where.node in read, self._desired.pods_on(where.volume, where.node)
        node = read[where.node] if is_read else self._known.nodes.get(Key("", where.node))
        return VolumeOnNodeView(
            where,
            node,
            is_read,
            self._actual.attachment(where),
            self._reports.has(where),
            tuple(pods.values()),
            self._actual.memory(where),
            is_managed=node is not None and self._reports.serves(where.node),
            is_ours=self._actual.is_ours(where),
            departure=self._departures.find(where.node),
        )
