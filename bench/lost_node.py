"""A machine that is proven gone: how soon its exclusive volumes are attached elsewhere.

One node is lost: its heartbeats have stopped, it says that it uses the volumes, and pods on it do.
Pods on a living node wait for the same volumes. Time is counted from the taint `out-of-service` to
the last volume in the living node's list. The attacher is in this process, and answers at once.
"""

import asyncio
import json
from datetime import UTC, datetime

import uvloop

from bench.attachment import (
    ATTACHMENTS,
    CONNECTIONS,
    CORE,
    DRIVER,
    DRIVERS,
    HERE,
    MERGE,
    Attacher,
    Doc,
    Lists,
    Manner,
    Row,
    a_claim,
    a_node,
    a_pod,
    a_volume,
    create,
    following,
    until,
)
from bench.client import Pool, open_pool, request
from bench.server import Server, server

LOST, LIVING = "lost", "living"
GRACE_SECONDS = 3
BEAT_SECONDS = 0.5
TAINT = {"key": "node.kubernetes.io/out-of-service", "value": "bench", "effect": "NoExecute"}
COUNTS = (1, 50)
BUDGET = "target 2 s; upstream: six minutes"


class Nodes(Lists):
    """What nodes are told to be attached, and which of them are ready."""

    def __init__(self) -> None:
        super().__init__()
        self.ready: dict[str, str] = {}
        self.taints: dict[str, list[Doc]] = {}

    def told(self, kind: str, node: Doc) -> None:
        name = node["metadata"]["name"]
        conditions = node.get("status", {}).get("conditions") or ()
        for one in conditions:
            if one["type"] == "Ready":
                self.ready[name] = one["status"]
        self.taints[name] = node.get("spec", {}).get("taints") or []
        super().told(kind, node)


async def _patch(target: Server, pool: Pool, path: str, change: Doc) -> None:
    asked = request(target, "PATCH", path, json.dumps(change).encode())
    await pool.send(asked.replace(b"application/json", MERGE))


async def _beat(target: Server, pool: Pool) -> None:
    """The living node, as far as it is heard."""
    while True:
        now = datetime.now(UTC).isoformat(timespec="seconds")[:19] + "Z"
        ready = {"type": "Ready", "status": "True", "message": str(datetime.now(UTC))}
        ready["lastHeartbeatTime"] = now
        await _patch(
            target, pool, f"{CORE}/nodes/{LIVING}/status", {"status": {"conditions": [ready]}}
        )
        await asyncio.sleep(BEAT_SECONDS)


async def measure(target: Server, count: int) -> float:
    """Seconds."""
    loop, names = asyncio.get_running_loop(), [f"bench-{number:03}" for number in range(count)]
    nodes = Nodes()
    await create(target, DRIVERS, [{"metadata": {"name": DRIVER}, "spec": {}}])
    await create(target, f"{CORE}/nodes", [a_node(LOST), a_node(LIVING)])
    await create(target, f"{CORE}/persistentvolumes", map(a_volume, names))
    await create(target, f"{HERE}/persistentvolumeclaims", map(a_claim, names))
    async with asyncio.TaskGroup() as tasks, open_pool(target, CONNECTIONS) as pool:
        attacher = Attacher(Manner.FINALIZER, target, pool, tasks)
        async with (
            following(target, ATTACHMENTS, attacher.told),
            following(target, f"{CORE}/nodes", nodes.told),
        ):
            beats = tasks.create_task(_beat(target, pool))
            pods = [_named(f"{name}-here", a_pod(name, LOST)) for name in names]
            await create(target, f"{HERE}/pods", pods)
            await until(lambda: nodes.by_node.get(LOST) == count, nodes)
            used = [f"kubernetes.io/csi/{DRIVER}^{name}" for name in names]
            in_use = {"status": {"volumesInUse": used}}
            await _patch(target, pool, f"{CORE}/nodes/{LOST}/status", in_use)
            pods = [_named(f"{name}-there", a_pod(name, LIVING)) for name in names]
            await create(target, f"{HERE}/pods", pods)
            await until(lambda: nodes.ready.get(LOST) == "Unknown", nodes)
            taints = [*nodes.taints[LOST], TAINT]
            began = loop.time()
            await _patch(target, pool, f"{CORE}/nodes/{LOST}", {"spec": {"taints": taints}})
            moved = await until(lambda: nodes.by_node.get(LIVING) == count, nodes) - began
            beats.cancel()
    return moved


def _named(name: str, pod: Doc) -> Doc:
    return {**pod, "metadata": {**pod["metadata"], "name": name}}


async def _measure() -> list[Row]:
    rows = []
    for count in COUNTS:
        flags = ("--node-monitor-grace-period", str(GRACE_SECONDS), "--log-level", "error")
        async with server("up", "--no-node", *flags) as target:
            took = await measure(target, count)
        volumes = "its exclusive volume" if count == 1 else f"its {count} exclusive volumes"
        what = f"a node proven gone: {volumes} attached elsewhere"
        rows.append((what, f"{took:.2f} s", BUDGET))
    return rows


def run() -> list[Row]:
    return uvloop.run(_measure())
