"""The scheduler among many nodes and many waiting pods, in processor time.

Production roles (scheduler, binder) in this process on the in-memory store; nodes are documents.
Each part ends by itself: what is not done in time is said in the row.
"""

import uvloop

from bench.in_process import (
    Cluster,
    Row,
    Spent,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_volume,
    cluster,
    pause,
)
from mooring.model.claim import Claim
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume

NODES = 500
PODS = 1_000
WAITING = 300
MANY_WAITING = 5_000
SAMPLES = 10
PATIENCE = 180.0
REST_SECONDS = 11.0  # the longest back-off of a refused pod is over


async def _placed(at: Cluster) -> int:
    pods = (await at.client.list(Pod)).readable
    return sum(pod.is_scheduled for pod in pods)


async def _until_placed(at: Cluster, wanted: int, patience: float = PATIENCE) -> int:
    """How many have a node, as soon as so many have, or when patience is at an end."""
    spent = Spent()
    while (count := await _placed(at)) < wanted and spent.wall < patience:
        await pause(0.2)
    return count


async def _cluster_of(at: Cluster, nodes: int = NODES) -> None:
    await at.create(StorageClass, [a_class("local")])
    await at.create(Node, (a_node(f"n{number:04}") for number in range(nodes)))


async def _crowd() -> Row:
    """Pods, claims and volumes are there; then the roles start."""
    async with cluster() as at:
        await _cluster_of(at)
        volumes = (a_volume(f"v{n:04}", f"n{n % NODES:04}") for n in range(PODS))
        available = {"status": {"phase": "Available"}}
        await at.create(Volume, (volume | available for volume in volumes))
        await at.create(Claim, (a_claim(f"c{n:04}") for n in range(PODS)))
        await at.create(Pod, (a_pod(f"p{n:04}", f"c{n:04}") for n in range(PODS)))
        spent = Spent()
        async with at.roles("binding"):
            count = await _until_placed(at, PODS)
            return (
                f"{PODS:,} pods with claims on {NODES} nodes, volumes of one node each",
                f"{spent.cpu:.1f} s CPU",
                f"{spent.wall:.1f} s wall, {count:,} placed; target 10 s",
            )


async def _plain() -> Row:
    async with cluster() as at:
        await _cluster_of(at)
        await at.create(Pod, (a_pod(f"p{n:04}") for n in range(PODS)))
        spent = Spent()
        async with at.roles("binding"):
            count = await _until_placed(at, PODS)
            return (
                f"{PODS:,} pods without claims on {NODES} nodes",
                f"{spent.cpu:.1f} s CPU",
                f"{spent.wall:.1f} s wall, {count:,} placed",
            )


async def _late_volumes() -> Row:
    """Pods wait, and their volumes come one after the other."""
    async with cluster() as at:
        await _cluster_of(at)
        await at.create(Claim, (a_claim(f"c{n:04}") for n in range(WAITING)))
        await at.create(Pod, (a_pod(f"p{n:04}", f"c{n:04}") for n in range(WAITING)))
        async with at.roles("binding"):
            await pause(REST_SECONDS)
            spent = Spent()
            volumes = (a_volume(f"v{n:04}", f"n{n % NODES:04}") for n in range(WAITING))
            await at.create(Volume, volumes)
            count = await _until_placed(at, WAITING)
            return (
                f"{WAITING} waiting pods, {WAITING} volumes come, {NODES} nodes",
                f"{spent.cpu:.1f} s CPU",
                f"{spent.wall:.1f} s wall, {count} placed",
            )


async def _one_fits() -> Row:
    """Thousands wait; a volume comes that one of them can have."""
    async with cluster() as at:
        await _cluster_of(at)
        await at.create(Claim, (a_claim(f"c{n:04}") for n in range(MANY_WAITING)))
        await at.create(Pod, (a_pod(f"p{n:04}", f"c{n:04}") for n in range(MANY_WAITING)))
        async with at.roles("binding"):
            settled = 0.0
            while settled < REST_SECONDS:  # until all were looked at, and their pauses are over
                quiet = Spent()
                await pause(1.0)
                settled = settled + 1.0 if quiet.cpu < 0.2 else 0.0
            costs: list[float] = []
            for sample in range(SAMPLES):
                spent = Spent()
                await at.create(Volume, [a_volume(f"v{sample}", f"n{sample:04}")])
                await pause(0.5)
                costs.append(spent.cpu)
            count = await _until_placed(at, SAMPLES, 30.0)
            costs.sort()
            return (
                f"{MANY_WAITING:,} waiting pods, one fitting volume, {NODES} nodes",
                f"{costs[SAMPLES // 2] * 1000:.1f} ms CPU",
                f"median of {SAMPLES}, API and binder included; {count} placed; target 10 ms",
            )


def run() -> list[Row]:
    return [uvloop.run(part()) for part in (_plain, _crowd, _late_volumes, _one_fits)]
