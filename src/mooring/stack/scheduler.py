"""The scheduler of a cluster, with the informers it looks at."""

import asyncio
import random
from collections.abc import Iterable
from typing import Final, TypeVar

from prometheus_client.registry import Collector

from mooring.client.contract import EVERYTHING, Client, Scope
from mooring.clock import Clock
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.reconcile.informer import Informer
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.recorder import Recorder
from mooring.scheduling.caches import ALIVE, Informers
from mooring.scheduling.run import DEFAULT_SCHEDULER, PodScheduler, Settings

T = TypeVar("T", bound=ApiObject)


class Scheduler:
    """Places pods that ask for `scheduler_name`; `run` runs it until cancelled."""

    name: Final = "scheduler"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        chance: random.Random,
        scheduler_name: str = DEFAULT_SCHEDULER,
    ) -> None:
        self._client = client
        self._clock = clock
        self._chance = chance
        self._loops = LoopMetrics()
        informers = Informers(
            pods=self._informer(Pod, ALIVE),
            nodes=self._informer(Node),
            claims=self._informer(Claim),
            volumes=self._informer(Volume),
            classes=self._informer(StorageClass),
            drivers=self._informer(CsiDriver),
            csi_nodes=self._informer(CsiNode),
            capacities=self._informer(StorageCapacity),
            attachments=self._informer(Attachment),
        )
        self._recorder = Recorder(client, clock, chance, scheduler_name)
        self._loops.add_recorder(scheduler_name, self._recorder.counts)
        self._sources = informers.all()
        self._scheduler = PodScheduler(
            client, clock, informers, self._recorder, Settings(scheduler_name)
        )
        self._loops.add_queue("scheduling", self._scheduler.queue)
        self._loops.add_queue("binding", self._scheduler.bindings.queue)
        self._loops.add_queue("reporting", self._scheduler.reports.queue)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            for source in self._sources:
                tasks.create_task(source.run())
            tasks.create_task(self._scheduler.run())

    async def synced(self) -> None:
        for source in self._sources:
            await source.synced.wait()

    def collectors(self) -> Iterable[Collector]:
        return (self._loops,)

    def _informer(self, kind: type[T], scope: Scope = EVERYTHING) -> Informer[T]:
        informer = Informer(self._client, kind, scope, self._clock, self._chance)
        self._loops.add_informer(f"scheduler/{kind.resource.plural}", informer.counts)
        return informer
