"""What dashboards see of drivers."""

from collections.abc import AsyncIterator

import pytest

from mooring.node.registration.metrics import RegistrationMetrics
from tests.fakes.waiting import until
from tests.unit.node.registration.test_sockets import listen
from tests.unit.node.registration.world import World


@pytest.fixture
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    world = World(tmp_path_factory.mktemp("m"))
    async with world.driver:
        yield world


async def test_sockets_that_are_there_and_those_that_have_a_driver(world: World) -> None:
    stale = listen(world.directory / "stale.sock")
    async with world.running(), world.registrar():
        await until(lambda: len(world.registrations.sockets()) == 2)
        (family,) = RegistrationMetrics(world.registrations).collect()
        assert family.name == "plugin_manager_total_plugins"
        shown = {(one.labels["socket_path"], one.labels["state"]) for one in family.samples}
        own = str(world.directory / "a.sock")
        assert shown == {
            (own, "actual_state_of_world"),
            (own, "desired_state_of_world"),
            (str(stale), "desired_state_of_world"),
        }
