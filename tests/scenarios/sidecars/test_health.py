"""The health of volumes, told on their claims: scenarios 79 to 81, on played time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.csi.volume import Condition, Volume, VolumeState
from mooring.csi.volume_health import HealthEntry, VolumeHealth, VolumeTrouble
from mooring.model.document import Doc
from mooring.sidecars.driver import Abilities
from mooring.sidecars.health import run as health
from mooring.sidecars.options import SidecarOptions
from tests.fakes.objects import CLAIMS
from tests.scenarios.neighbours import FOREVER
from tests.scenarios.sidecars.cluster import Cluster, Refusing

C = ControllerCapability
ROUND = 60.0
SLOW = HealthEntry(VolumeTrouble.DEGRADED, "Slow", "one path")


@dataclass
class FakeHealth:
    """What a driver says, by handle."""

    ill: dict[str, tuple[HealthEntry, ...]] = field(default_factory=dict)
    conditions: dict[str, Condition] = field(default_factory=dict)
    failure: Refused | Uncertain | None = None
    asked: list[str] = field(default_factory=list)

    async def list_health(self, *, within: float) -> Outcome[tuple[VolumeHealth, ...]]:
        self.asked.append("list")
        told = tuple(VolumeHealth(handle, these) for handle, these in self.ill.items())
        return self.failure or Done(told)

    async def get_health(self, volume_id: str, *, within: float) -> Outcome[VolumeHealth]:
        self.asked.append(volume_id)
        return self.failure or Done(VolumeHealth(volume_id, self.ill.get(volume_id, ())))

    async def list_states(self, *, within: float) -> Outcome[tuple[VolumeState, ...]]:
        self.asked.append("list")
        return self.failure or Done(
            tuple(
                VolumeState(Volume(handle), condition=condition)
                for handle, condition in self.conditions.items()
            )
        )

    async def get_state(self, volume_id: str, *, within: float) -> Outcome[VolumeState]:
        self.asked.append(volume_id)
        return self.failure or Done(
            VolumeState(Volume(volume_id), condition=self.conditions.get(volume_id))
        )


@pytest.fixture
def told() -> FakeHealth:
    return FakeHealth()


@asynccontextmanager
async def monitoring(
    cluster: Cluster, told: FakeHealth, *able: ControllerCapability, writes: int = FOREVER
) -> AsyncIterator[Refusing]:
    services = cluster.driver.abilities.services
    driver = msgspec.structs.replace(
        cluster.driver.driver, abilities=Abilities(services, frozenset(able)), health=told
    )
    client = Refusing(cluster.client_of_sidecar(), writes, cluster.client())
    loops = cluster.loops(client)
    health.build(loops, driver, SidecarOptions())
    async with cluster.running(loops):
        yield client


@pytest.fixture
async def handle(cluster: Cluster) -> str:
    """Of a volume that is bound to the claim `data`."""
    await cluster.storage_class()
    await cluster.claim()
    async with cluster.provisioner():
        await cluster.settle()
    await cluster.passes(1)  # names of events tell the time
    assert await cluster.phase() == "Bound"
    volume: str = (await cluster.volume_of())["spec"]["csi"]["volumeHandle"]
    return volume


async def conditions(cluster: Cluster) -> list[str]:
    status: Doc = (await cluster.get(f"{CLAIMS}/data"))["status"].get("healthStatus") or {}
    found: list[dict[str, Any]] = status.get("healthConditions") or []
    return [f"{each['status']} {each['reason']}" for each in found]


async def test_a_list_may_have_a_gap_and_two_gaps_are_recovery(
    cluster: Cluster, told: FakeHealth, handle: str
) -> None:
    told.ill = {handle: (SLOW,)}
    async with monitoring(cluster, told, C.LIST_VOLUME_HEALTH, C.GET_VOLUME_HEALTH):
        assert await conditions(cluster) == ["Degraded Slow"]
        assert await cluster.told("VolumeConditionAbnormal") == ["Degraded: Slow: one path"]
        told.ill = {}
        await cluster.passes(ROUND)
        assert await conditions(cluster) == ["Degraded Slow"]
        await cluster.passes(ROUND)
        assert await conditions(cluster) == []
        assert len(await cluster.told("VolumeConditionNormal")) == 1


async def test_a_driver_that_fails_changes_nothing_and_wording_alone_writes_nothing(
    cluster: Cluster, told: FakeHealth, handle: str
) -> None:
    told.ill = {handle: (SLOW,)}
    async with monitoring(cluster, told, C.LIST_VOLUME_HEALTH, C.GET_VOLUME_HEALTH):
        before = (await cluster.get(f"{CLAIMS}/data"))["metadata"]["resourceVersion"]
        told.failure = Uncertain(Code.UNAVAILABLE, "gone")
        for _ in range(3):
            await cluster.passes(ROUND)
        told.failure = None
        told.ill = {handle: (msgspec.structs.replace(SLOW, message="no path"),)}
        await cluster.passes(ROUND)
        assert (await cluster.get(f"{CLAIMS}/data"))["metadata"]["resourceVersion"] == before
        assert await conditions(cluster) == ["Degraded Slow"]


async def test_a_get_that_finds_nothing_wrong_is_recovery_at_once(
    cluster: Cluster, told: FakeHealth, handle: str
) -> None:
    told.ill = {handle: (SLOW,)}
    async with monitoring(cluster, told, C.GET_VOLUME_HEALTH):
        assert await conditions(cluster) == ["Degraded Slow"]
        told.failure = Refused(Code.INTERNAL, "oops")
        await cluster.passes(ROUND)
        assert await conditions(cluster) == ["Degraded Slow"]
        told.failure = None
        told.ill = {}
        await cluster.passes(ROUND)
        assert await conditions(cluster) == []
        told.failure = Refused(Code.NOT_FOUND, "no such volume")
        await cluster.passes(ROUND)
        assert await conditions(cluster) == ["Inaccessible VolumeNotFound"]


async def test_a_volume_that_is_bound_late_is_picked_up(
    cluster: Cluster, told: FakeHealth, handle: str
) -> None:
    async with monitoring(cluster, told, C.GET_VOLUME_HEALTH):
        await cluster.claim("later")
        async with cluster.provisioner():
            await cluster.settle()
        told.asked.clear()
        await cluster.passes(ROUND)
        assert len(told.asked) == len(set(told.asked)) == 2


async def test_an_older_driver_is_told_of_by_events_alone(
    cluster: Cluster, told: FakeHealth, handle: str
) -> None:
    told.conditions = {handle: Condition(abnormal=True, message="a disk is gone")}
    async with monitoring(cluster, told, C.VOLUME_CONDITION, C.LIST_VOLUMES):
        assert await cluster.told("VolumeConditionAbnormal") == ["a disk is gone"]
        told.conditions = {handle: Condition(abnormal=False, message="")}
        await cluster.passes(health.LIST_SECONDS)
        assert await cluster.told("VolumeConditionNormal") == [
            "The Volume returns to the healthy state"
        ]
        assert await conditions(cluster) == []
        assert "healthStatus" not in (await cluster.get(f"{CLAIMS}/data"))["status"]


async def test_a_driver_that_has_none_of_it_is_not_asked(
    cluster: Cluster, told: FakeHealth, handle: str
) -> None:
    async with monitoring(cluster, told, C.LIST_VOLUMES):
        await cluster.passes(health.LIST_SECONDS)
        assert told.asked == []


async def test_killed_before_it_could_write_the_next_one_writes(
    cluster: Cluster, told: FakeHealth, handle: str
) -> None:
    told.ill = {handle: (SLOW,)}
    async with monitoring(cluster, told, C.GET_VOLUME_HEALTH, writes=0):
        assert await conditions(cluster) == []
    async with monitoring(cluster, told, C.GET_VOLUME_HEALTH):
        assert await conditions(cluster) == ["Degraded Slow"]
