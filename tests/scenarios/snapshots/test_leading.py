"""Beside upstream's snapshot-controller: one of the two works, by the lease that both know."""

import asyncio
from random import Random

import msgspec

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.snapshots import run as snapshots
from mooring.controllers.snapshots.options import SNAPSHOT_LEASE, SnapshotLease, SnapshotOptions
from mooring.model.keys import Key
from mooring.reconcile.loops import Loops
from tests.fakes.objects import SNAPSHOT_CONTENTS, SNAPSHOTS, a_lease
from tests.scenarios.neighbours import NO_OPTIONS
from tests.scenarios.snapshots.cluster import Cluster

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


async def test_it_rests_while_upstreams_holds_the_lease_and_then_takes_over(
    cluster: Cluster,
) -> None:
    lease = a_lease(SNAPSHOT_LEASE, "upstream")
    lease["metadata"].pop("namespace", None)
    await cluster.create(LEASES, lease)
    await cluster.claim()
    await cluster.snapshot_class()
    api = LocalClient(InProcessApi(cluster.api.parts.backend, CONTROLLERS))
    loops = Loops("controllers", api, cluster.api.clock, Random(1))  # noqa: S311  not for secrets
    held = SnapshotLease(Key("kube-system", SNAPSHOT_LEASE), "ours")
    options = msgspec.structs.replace(NO_OPTIONS, snapshots=SnapshotOptions(lease=held))
    snapshots.build(loops, options)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loops.run())
        await cluster.settle()
        await cluster.snapshot()
        await cluster.api.clock.advance(10)
        assert await cluster.all(SNAPSHOT_CONTENTS) == []

        await cluster.api.clock.advance(20)  # nobody renews it
        for _ in range(3):
            await cluster.sidecar.turn()
            await cluster.api.clock.advance(1)
        assert (await cluster.get(LEASES, SNAPSHOT_LEASE))["spec"]["holderIdentity"] == "ours"
        assert (await cluster.get(SNAPSHOTS, "snap"))["status"]["readyToUse"]
        (family,) = (
            family
            for collector in loops.collectors()
            for family in collector.collect()
            if family.name == "snapshot_controller_operation_total_seconds"
        )
        counted = {
            sample.labels["operation_name"]: sample.value
            for sample in family.samples
            if sample.name.endswith("_count")
        }
        assert counted == {"CreateSnapshot": 1, "CreateSnapshotAndReady": 1}
        running.cancel()
