"""The expand controller at work: claims that ask for more, or got more, wake it."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.expansion.decide import decide
from mooring.controllers.expansion.effects import Effects
from mooring.controllers.expansion.view import ClaimView, find_local_expander, wakes
from mooring.controllers.options import Options
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.plugins.flex.drivers import Drivers
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Settled, Verdict, work

COMPONENT: Final = "volume_expand"
"""The reporting component of its events."""

WORKERS = 10


def build(loops: Loops, options: Options) -> None:
    """Add the expand controller to the role."""
    claims, volumes = loops.informer(Claim), loops.informer(Volume)
    recorder = loops.recorder(COMPONENT)
    controller = Expansion(loops.client, loops.clock, recorder, claims, volumes, options.flex)
    loops.add(controller.run, {controller.queue_name: controller.queue})


class Expansion:
    """The informers are shared, and run by the role."""

    queue_name: Final = "volume_expand"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        claims: Informer[Claim],
        volumes: Informer[Volume],
        flex: Drivers | None = None,
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._claims = claims
        self._volumes = volumes
        self._flex = flex
        self._effects = Effects(client, clock, recorder, claims, volumes, flex)
        claims.on_change(self._on_claim)
        volumes.on_change(self._on_volume)

    async def run(self) -> None:
        if self._flex is not None:
            await self._flex.looked.wait()  # else a driver that is here would be passed over
        await work((self._claims, self._volumes), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        claim = self._claims.get(key)
        if claim is None:
            return Settled()
        volume = self._volumes.get(Key("", claim.spec.volume_name))
        await self._effects.perform(decide(self._view(claim, volume)), claim)
        return Settled()

    def _view(self, claim: Claim, volume: Volume | None) -> ClaimView:
        name = None if volume is None else find_local_expander(volume)
        driver = None if self._flex is None or name is None else self._flex.find(name)
        leaves = driver is None or driver.capabilities.requires_fs_resize
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
