"""What one role runs: its informers, recorders, queues, and whatever else works until cancelled.

A role is built by functions that take a `Loops`: they ask it for informers and recorders, and add
what they have made. Production, scenarios and tests build a role by the same functions.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import Random
from typing import Any, TypeVar

from prometheus_client.registry import Collector

from mooring.client.contract import Client, T
from mooring.clock import Clock
from mooring.reconcile.informer import Informer
from mooring.reconcile.merged_metrics import MergedMetrics
from mooring.reconcile.metrics import LoopMetrics, MeasuredQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.shared_informer import (
    SelectedInformer,
    Selection,
    SharedInformer,
    SharedInformers,
)

Run = Callable[[], Awaitable[None]]
C = TypeVar("C", bound=Collector)
NO_QUEUES: Mapping[str, MeasuredQueue] = {}


class Loops:
    """`Role`. Without `informers` to share it has, and runs, informers of its own."""

    def __init__(
        self,
        name: str,
        client: Client,
        clock: Clock,
        rng: Random,
        informers: SharedInformers | None = None,
    ) -> None:
        self.name = name
        self.client = client
        self.clock = clock
        self.rng = rng
        self._whole: Loops | None = None  # that this is a part of
        self._metrics = LoopMetrics()
        self._collectors: list[Collector] = [self._metrics]
        self._parts: list[Run] = []
        self._shares: list[SharedInformer[Any] | SelectedInformer[Any]] = []
        if informers is None:
            informers = SharedInformers(client, clock, rng, whole_kinds=False)
            self._parts.append(informers.run)
            self._collectors.extend(informers.collectors())
        self._informers = informers

    # building

    def informer(self, kind: type[T], selection: Selection[T] | None = None) -> Informer[T]:
        share = self._informers.share(kind, selection)
        self._shares.append(share)
        return share

    def recorder(self, component: str, host: str = "", counted_as: str = "") -> Recorder:
        """Of events that come from this component; it is run with the role."""
        recorder = Recorder(self.client, self.clock, self.rng, component, host)
        self._metrics.add_recorder(counted_as or component, recorder.counts)
        self._parts.append(recorder.run)
        return recorder

    def add(self, run: Run, queues: Mapping[str, MeasuredQueue] = NO_QUEUES) -> None:
        """Run this with the role, and measure its queues, by the names that dashboards know."""
        self._parts.append(run)
        for name, queue in queues.items():
            self._metrics.add_queue(name, queue)

    def count(self, *collectors: Collector) -> None:
        """Show what these count with the role."""
        self._collectors.extend(collectors)

    def counter(self, kind: type[C]) -> C:
        """The one collector of this class, which stays with the role when a part of it goes."""
        if self._whole is not None:
            return self._whole.counter(kind)
        for known in self._collectors:
            if isinstance(known, kind):
                return known
        made = kind()
        self._collectors.append(made)
        return made

    def part(self, client: Client) -> "Loops":
        """Loops that start and stop while the role runs, on its informers; the caller runs them."""
        part = Loops(self.name, client, self.clock, self.rng, self._informers)
        part._whole = self
        return part

    # the role

    async def run(self) -> None:
        """Run all of it until cancelled; if one part dies, all stop."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for part in self._parts:
                    tasks.create_task(_awaited(part))
                await asyncio.Event().wait()
        finally:
            self.close()

    async def caught_up(self, version: int) -> None:
        """Return when every informer knows all that was written before this version."""
        await self._informers.caught_up(version)

    async def synced(self) -> None:
        for share in self._shares:
            await share.synced.wait()

    def collectors(self) -> Iterable[Collector]:
        """One, as several loops may count in the same family."""
        return (MergedMetrics(self._collectors),)

    def close(self) -> None:
        """Take back what is shared with other roles; for a role that was built and never run."""
        for share in self._shares:
            share.close()
        self._shares.clear()


async def _awaited(run: Run) -> None:
    await run()
