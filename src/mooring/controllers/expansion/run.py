"""The expand controller at work: claims that ask for more, or got more, wake it."""

import asyncio
from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.expansion.back_ends import BackEnds
from mooring.controllers.expansion.decide import decide
from mooring.controllers.expansion.effects import Effects
from mooring.controllers.expansion.plan import GrowBackEnd, Plan
from mooring.controllers.expansion.view import ClaimView, find_local_expander, wakes
from mooring.controllers.options import Options
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Plugin
from mooring.plugins.contract import Expandable
from mooring.plugins.glusterfs.volumes import GlusterVolumes
from mooring.plugins.rbd.volumes import RbdVolumes
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Settled, Verdict, work

COMPONENT: Final = "volume_expand"
"""The reporting component of its events."""

WORKERS = 10
NOBODY = BackEnds()


def build(loops: Loops, options: Options) -> None:
    """Add the expand controller to the role."""
    claims, volumes = loops.informer(Claim), loops.informer(Volume)
    recorder = loops.recorder(COMPONENT)
    in_tree: dict[str, Expandable] = {
        Plugin.GLUSTERFS: GlusterVolumes(loops.client, loops.clock),
        Plugin.RBD: RbdVolumes(loops.client),
    }
    back_ends = BackEnds(options.flex, in_tree)
    controller = Expansion(loops.client, loops.clock, recorder, claims, volumes, back_ends)
    queues = {controller.queue_name: controller.queue, controller.growing_name: controller.growing}
    loops.add(controller.run, queues)


class Expansion:
    """The informers are shared, and run by the role."""

    queue_name: Final = "volume_expand"
    growing_name: Final = "volume_expand_back_ends"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        claims: Informer[Claim],
        volumes: Informer[Volume],
        back_ends: BackEnds = NOBODY,
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self.growing: KeyedQueue[Key] = KeyedQueue(clock)
        self._claims = claims
        self._volumes = volumes
        self._back_ends = back_ends
        self._effects = Effects(client, clock, recorder, claims, volumes, back_ends)
        claims.on_change(self._on_claim)
        volumes.on_change(self._on_volume)

    async def run(self) -> None:
        await self._back_ends.known()
        informers = self._claims, self._volumes
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work(informers, self.queue, self.reconcile, WORKERS))
            tasks.create_task(work(informers, self.growing, self.grow, WORKERS))

    async def reconcile(self, key: Key) -> Verdict:
        """One claim; growing a back end takes long, and is left to workers of its own."""
        claim = self._claims.get(key)
        if claim is None:
            return Settled()
        plan = self._plan(claim)
        if any(isinstance(step, GrowBackEnd) for step in plan.steps):
            self.growing.add(key)
        else:
            await self._effects.perform(plan, claim)
        return Settled()

    async def grow(self, key: Key) -> Verdict:
        claim = self._claims.get(key)
        if claim is not None:
            await self._effects.perform(self._plan(claim), claim)
        return Settled()

    def _plan(self, claim: Claim) -> Plan:
        volume = self._volumes.get(Key("", claim.spec.volume_name))
        return decide(self._view(claim, volume))

    def _view(self, claim: Claim, volume: Volume | None) -> ClaimView:
        leaves = volume is None or self._back_ends.leave_file_system(volume)
        return ClaimView(claim, volume, driver_leaves_file_system=leaves)

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        if after is not None and wakes(before, after):
            self.queue.add(after.key)

    def _on_volume(self, _before: Volume | None, after: Volume | None) -> None:
        """Claim and volume come by different watches: what a volume remembers may come second."""
        if (
            after is not None
            and after.spec.claim_ref is not None
            and Annotation.PRE_RESIZE_CAPACITY in after.metadata.annotations
            and find_local_expander(after) is not None
        ):
            self.queue.add(after.spec.claim_ref.key)
