"""A whole node asks a driver for health, and tells it in the API; time passes as the test says."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from tests.fakes.api import make_pki, running_api
from tests.fakes.csi_driver import Fails, FakeCsiDriver, Hangs
from tests.fakes.csi_node import NODE, CsiNodeWorld
from tests.fakes.mounts import FakeMounts
from tests.fakes.objects import DRIVERS, a_driver
from tests.fakes.waiting import until

DRIVER = "fake.csi.mooring.dev"
PERIOD = 60.0
Told = dict[str, list[str]]  # status/reason, by volume or driver
LOSS = ("DATA_LOSS", "ImageMissing", "its image is missing")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


class World(CsiNodeWorld):
    driver: FakeCsiDriver

    def _doc(self, plural: str, namespace: str, name: str, group: str = "") -> dict[str, Any]:
        return self.api.parts.backend.objects.find(plural, namespace, name, group) or {}

    def pod(self) -> dict[str, Any]:
        return self._doc("pods", "default", "web")

    def health(self) -> Told:
        return _told(self.pod().get("status", {}).get("volumeHealth"))

    def storage(self) -> Told:
        found = self._doc("csinodes", "", NODE, "storage.k8s.io")
        return _told((found.get("status") or {}).get("storageHealth"))

    async def a_round(self) -> None:
        """The next one, up to its last question."""
        asked = self.count()
        await self.api.clock.advance(PERIOD)
        await until(lambda: self.count() > asked)

    def count(self) -> int:
        rpcs = ("NodeGetVolumeHealth", "NodeGetVolumeStats")
        return sum(len(self.driver.requests(rpc)) for rpc in rpcs)

    async def a_running_pod(self) -> None:
        await self.a_pod()
        await self.driver.arrived("NodePublishVolume")
        await self.api.settle()


def _told(entries: list[dict[str, Any]] | None) -> Told:
    return {
        each["name"]: [
            f"{one['status']}/{one['reason']}" for one in each.get("healthConditions") or ()
        ]
        for each in entries or ()
    }


@pytest.fixture
async def world(keys: Pki, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    place = tmp_path_factory.mktemp("n")  # short: a socket's path must be
    async with (
        running_api(keys, place / "api") as api,
        FakeCsiDriver(place / "csi.sock") as driver,
    ):
        world = World(api, place / "node", FakeMounts(), DRIVER, driver.socket)
        world.driver = driver
        await world.create(DRIVERS, a_driver(DRIVER, attachRequired=False))
        await world.a_claimed_volume()
        yield world


async def test_a_trouble_comes_and_goes_in_the_status_of_the_pod(world: World) -> None:
    async with world.node(), world.registrar():
        await world.a_running_pod()
        world.driver.state.health[world.handle] = [LOSS]
        await world.a_round()
        await until(lambda: world.health() == {"data": ["DataLoss/ImageMissing"]})
        request = world.driver.requests("NodeGetVolumeHealth")[-1]
        assert isinstance(request, pb.NodeGetVolumeHealthRequest)
        published = world.driver.requests("NodePublishVolume")[-1]
        assert isinstance(published, pb.NodePublishVolumeRequest)
        assert request.volume_publish_path == published.target_path
        assert request.staging_target_path == published.staging_target_path
        del world.driver.state.health[world.handle]
        await world.a_round()
        await until(lambda: world.health() == {"data": []})
    assert await world.said("VolumeConditionAbnormal") == ["Volume data: its image is missing"]
    assert len(await world.said("VolumeConditionNormal")) == 1


async def test_what_does_not_change_is_not_written(world: World) -> None:
    world.driver.state.health[world.handle] = [LOSS]
    async with world.node(), world.registrar():
        await world.a_running_pod()
        await world.a_round()
        await until(lambda: bool(world.health()))
        await world.api.settle()
        version = world.pod()["metadata"]["resourceVersion"]
        world.driver.state.health[world.handle] = [(*LOSS[:2], "in other words")]
        for _ in range(3):
            await world.a_round()
        await world.api.settle()
        assert world.pod()["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("failure", [Fails(Code.INTERNAL), Fails(Code.NOT_FOUND), Hangs()])
async def test_a_driver_that_does_not_answer_changes_nothing(
    world: World, failure: Fails | Hangs
) -> None:
    world.driver.state.health[world.handle] = [LOSS]
    async with world.node(), world.registrar():
        await world.a_running_pod()
        await world.a_round()
        await until(lambda: bool(world.health()))
        world.driver.always("NodeGetVolumeHealth", failure)
        await world.a_round()
        await world.api.settle()
        assert world.health() == {"data": ["DataLoss/ImageMissing"]}


async def test_a_driver_up_to_1_12_has_a_condition(world: World) -> None:
    world.driver.state.node -= {
        NodeCapability.GET_VOLUME_HEALTH,
        NodeCapability.GET_STORAGE_HEALTH,
    }
    async with world.node(), world.registrar():
        await world.a_running_pod()
        world.driver.state.conditions[world.handle] = "a disk is missing"
        await world.a_round()
        await until(lambda: world.health() == {"data": ["Degraded/VolumeConditionAbnormal"]})
        world.driver.state.conditions.clear()
        await world.a_round()
        await until(lambda: world.health() == {"data": []})
    assert await world.said("VolumeConditionAbnormal") == ["Volume data: a disk is missing"]
    assert world.driver.requests("NodeGetVolumeHealth") == []


async def test_storage_that_is_not_well_shows_on_the_node_until_it_is_or_the_driver_goes(
    world: World,
) -> None:
    full = [("STORAGE_DEGRADED", "PoolFull", "the pool is full")]
    async with world.node():
        async with world.registrar():
            world.driver.state.storage_health = full
            await world.a_running_pod()
            await world.a_round()
            await until(lambda: world.storage() == {DRIVER: ["StorageDegraded/PoolFull"]})
            world.driver.state.storage_health = []
            await world.a_round()
            await until(lambda: world.storage() == {})
            world.driver.state.storage_health = full
            await world.a_round()
            await until(lambda: bool(world.storage()))
        await until(lambda: world.storage() == {})
