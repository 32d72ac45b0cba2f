"""The snapshot controller by upstream's lease: while upstream's own holds it, this one rests."""

from collections.abc import Callable, Iterator

from prometheus_client import Metric
from prometheus_client.registry import Collector

from mooring import log
from mooring.controllers.snapshots.options import SnapshotLease
from mooring.reconcile.leadership import FencedClient
from mooring.reconcile.lease import LeaderCallbacks, LeaderElection
from mooring.reconcile.loops import Loops
from mooring.reconcile.worker import lasting

_log = log.get("mooring.snapshots")

Part = Callable[[Loops], object]


def lead_by_lease(loops: Loops, lease: SnapshotLease | None, watch: Part, add: Part) -> None:
    """Run what `add` adds while this process has the lease; `watch` asks for its informers."""
    if lease is None:
        add(loops)
        return
    watch(loops)
    leading = _Leading(loops, lease, add)
    loops.count(leading)
    loops.add(leading.run)


class _Leading(Collector):
    """Counts what the part counts that is running now."""

    def __init__(self, loops: Loops, lease: SnapshotLease, add: Part) -> None:
        self._loops = loops
        self._lease = lease
        self._add = add
        self._part: Loops | None = None

    async def run(self) -> None:
        await lasting("snapshots", self._loops.clock, self._stand)

    async def _stand(self) -> None:
        whole, lease = self._loops, self._lease
        election = LeaderElection(
            whole.client,
            whole.clock,
            whole.rng,
            lease.lease,
            lease.identity,
            lease.terms,
            LeaderCallbacks(waiting=self._wait),
        )

        async def lead() -> None:
            part = self._loops.part(FencedClient(whole.client, election.leadership))
            self._part = part
            try:
                self._add(part)
                await part.run()
            finally:
                self._part = None
                part.close()

        await election.run(lead)

    def _wait(self, holder: str) -> None:
        _log.warning(
            "another snapshot-controller works here: waiting for its lease",
            lease=self._lease.lease,
            holder=holder,
        )

    def collect(self) -> Iterator[Metric]:
        for collector in () if self._part is None else self._part.collectors():
            yield from collector.collect()
