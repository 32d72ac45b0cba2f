"""Rounds of questions to several drivers, and what metrics show of the answers."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from google.protobuf.message import Message

from mooring.csi.channel import Method
from mooring.csi.outcome import Outcome
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.node.health.run import NodeHealthRounds
from mooring.testing.csi_state import CsiState
from tests.fakes.clock import settle
from tests.fakes.csi_played import PlayedConnection, registered
from tests.unit.node.effects.world import NodeWorld

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)
T = TypeVar("T")


class HangingConnection(PlayedConnection):
    """Answers to no question of health, ever."""

    async def call(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        *,
        within: float,
        secrets: Secrets = NO_SECRETS,
    ) -> Outcome[T]:
        if method.name.endswith("Health"):
            await asyncio.Event().wait()
        return await super().call(method, build, read, within=within, secrets=secrets)


async def test_a_driver_that_hangs_delays_no_other(tmp_path: Path) -> None:
    world = NodeWorld(tmp_path)
    full = [("STORAGE_DEGRADED", "PoolFull", "full")]
    hanging = [HangingConnection(CsiState(name=f"h{n}.example.com")) for n in range(3)]
    fine = PlayedConnection(CsiState(name="fine.example.com", storage_health=full))
    drivers = registered(*hanging, fine)
    rounds = NodeHealthRounds(world.context, drivers, lambda key: None, 60.0)
    running = asyncio.ensure_future(rounds.run())
    for driver in drivers:
        rounds.queue.add(driver.name)
    await settle()
    assert [one.reason for one in rounds.metrics.storage["fine.example.com"]] == ["PoolFull"]
    samples = [
        (sample.name, sample.labels, sample.value)
        for family in rounds.metrics.collect()
        for sample in family.samples
    ]
    labels = {
        "driver_name": "fine.example.com",
        "status": "StorageDegraded",
        "reason": "PoolFull",
    }
    assert samples == [("csi_node_storage_health_status", labels, 1)]
    running.cancel()
