"""Drivers that register, restart, lie and go, over real sockets."""

from collections.abc import AsyncIterator

import pytest

from mooring.csi.outcome import Code, Done, Outcome, Uncertain
from mooring.csi.plugin_info import CSI_PLUGIN, OFFERED_VERSIONS, Plugin, RegistrationStatus
from mooring.csi.registration import Registration, offering
from mooring.errors import ConnectionLost
from mooring.model.csi_node import CsiNode
from tests.fakes.csi_driver import Fails, FakeCsiDriver
from tests.fakes.waiting import until
from tests.unit.node.registration.test_sockets import listen
from tests.unit.node.registration.world import DRIVER, KEY, World

ACCEPTED = RegistrationStatus(registered=True)
IDS = "csi.volume.kubernetes.io/nodeid"


@pytest.fixture
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    world = World(tmp_path_factory.mktemp("r"))
    async with world.driver:
        yield world


async def test_a_driver_registers_and_is_told_of(world: World) -> None:
    world.driver.state.topology = {"zone": "a"}
    world.driver.state.max_volumes = 7
    async with world.running(), world.registrar():
        assert world.told == [ACCEPTED]
        assert isinstance(await world.drivers.get(DRIVER).node.get_info(within=5), Done)
        entry = world.server.get(CsiNode, KEY).find_driver(DRIVER)
        assert entry is not None
        assert (entry.node_id, entry.topology_keys, entry.most_volumes) == ("node-1", ("zone",), 7)
        meta = world.node().metadata
        assert meta.labels == {"zone": "a"}
        assert meta.annotations == {IDS: f'{{"{DRIVER}":"node-1"}}'}


async def test_a_node_without_drivers_says_so(world: World) -> None:
    async with world.running():
        await until(lambda: world.server.find(CsiNode, KEY) is not None)
        assert world.entries() == []


async def test_nothing_registers_before_the_api_has_the_node(world: World) -> None:
    async with world.running(has_node=False):
        stale = listen(world.directory / "b.sock")
        assert world.registrations.sockets() == ()
        world.create_node()
        await until(lambda: world.registrations.sockets() == (stale,))


async def test_a_socket_that_goes_takes_the_driver_along_and_comes_back_with_it(
    world: World,
) -> None:
    world.driver.state.topology = {"zone": "a"}
    async with world.running():
        async with world.registrar():
            assert world.entries() == [DRIVER]
        await until(lambda: world.entries() == [])
        await until(lambda: IDS not in world.node().metadata.annotations)
        assert world.drivers.find(DRIVER) is None
        assert world.node().metadata.labels == {"zone": "a"}  # volumes may be bound to it
        async with world.registrar():
            assert world.entries() == [DRIVER]
            assert world.told == [ACCEPTED, ACCEPTED]


async def test_a_registrar_that_was_killed_registers_anew(world: World) -> None:
    """Its socket is still there, and another takes its place."""
    listen(world.directory / "a.sock")
    async with world.running():
        await until(lambda: world.registrations.sockets() != ())
        async with world.registrar():
            assert set(world.told) == {ACCEPTED}  # said twice if it was asked as either
            assert world.entries() == [DRIVER]


async def test_a_driver_of_a_version_that_we_do_not_speak_is_refused(world: World) -> None:
    async with world.running(), world.registrar(versions=("2.0.0",)):
        assert not world.told[0].registered
        assert "None of the versions specified" in world.told[0].error
        assert world.entries() == []


async def test_a_second_driver_of_the_name_is_refused(world: World) -> None:
    async with (
        FakeCsiDriver(world.place / "2.sock") as second,
        world.running(),
        world.registrar(),
        world.registrar(socket="b.sock", endpoint=second.socket) as told,
    ):
        assert "Another driver with the same name" in told[0].error
        assert world.drivers.get(DRIVER).endpoint == str(world.driver.socket)
        assert world.entries() == [DRIVER]


async def test_of_two_that_come_at_once_one_registers(world: World) -> None:
    async with FakeCsiDriver(world.place / "2.sock") as second:
        offered = [
            Plugin(CSI_PLUGIN, DRIVER, str(socket), OFFERED_VERSIONS)
            for socket in (world.driver.socket, second.socket)
        ]
        async with (
            offering(world.directory / "a.sock", offered[0], world.told.append),
            offering(world.directory / "b.sock", offered[1], world.told.append),
            world.running(),
        ):
            await until(lambda: len(world.told) == 2)
            assert sorted(status.registered for status in world.told) == [False, True]
            assert world.entries() == [DRIVER]


async def test_one_that_was_refused_does_not_sit_out_a_pause(world: World) -> None:
    async with FakeCsiDriver(world.place / "2.sock") as second, world.running():
        first = world.registrar()
        await first.__aenter__()
        async with world.registrar(socket="b.sock", endpoint=second.socket) as told:
            await until(lambda: len(told) > 2)  # by now its pauses are seconds
            await first.__aexit__(None, None, None)
            await until(lambda: told[-1] == ACCEPTED, seconds=1.0)
            assert world.drivers.get(DRIVER).endpoint == str(second.socket)
            await until(lambda: world.entries() == [DRIVER])


async def test_a_newer_driver_takes_over_and_the_older_may_go(world: World) -> None:
    async with FakeCsiDriver(world.place / "2.sock") as second, world.running():
        async with world.registrar():
            newer = world.registrar(socket="b.sock", versions=("1.1.0",), endpoint=second.socket)
            await newer.__aenter__()
            assert world.drivers.get(DRIVER).endpoint == str(second.socket)
        await until(lambda: len(world.registrations.sockets()) == 1)
        assert world.drivers.get(DRIVER).endpoint == str(second.socket)
        assert world.entries() == [DRIVER]
        await newer.__aexit__(None, None, None)
        await until(lambda: world.entries() == [])


async def test_a_socket_that_lies_about_its_name(world: World) -> None:
    async with world.running(), world.registrar("liar.example.com"):
        assert world.told[0].error == (
            "RegisterPlugin error -- plugin registration failed with err: the driver at "
            f'{world.driver.socket} is called "{DRIVER}", not "liar.example.com"'
        )
        assert world.entries() == []
        assert world.drivers.find("liar.example.com") is None


async def test_a_driver_that_was_not_ready_is_asked_again(world: World) -> None:
    world.driver.next("NodeGetInfo", Fails(Code.INTERNAL, "starting"))
    async with world.running(), world.registrar() as told:
        assert told[0].error == (
            "RegisterPlugin error -- plugin registration failed with err: "
            "rpc error: code = Internal desc = starting"
        )
        await until(lambda: told[-1] == ACCEPTED)
        assert world.entries() == [DRIVER]


async def test_a_driver_that_restarts_stays_registered(world: World) -> None:
    async with world.running(), world.registrar():
        node = world.drivers.get(DRIVER).node
        await world.driver.stop()
        assert not isinstance(await node.get_info(within=1), Done)
        assert world.entries() == [DRIVER]
        await world.driver.start()
        while not isinstance(await node.get_info(within=5), Done):
            pass


async def test_a_registrar_that_did_not_hear_is_told_again_and_its_driver_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[RegistrationStatus] = []
    notify = Registration.notify

    async def deaf_at_first(
        self: Registration, status: RegistrationStatus, *, within: float
    ) -> Outcome[None]:
        calls.append(status)
        if len(calls) == 1:
            return Uncertain(Code.UNAVAILABLE, "connection reset")
        assert world.entries() == [DRIVER]
        return await notify(self, status, within=within)

    monkeypatch.setattr(Registration, "notify", deaf_at_first)
    async with world.running(), world.registrar():
        assert calls == [ACCEPTED, ACCEPTED]
        assert len(world.driver.requests("NodeGetInfo")) == 1
        await until(lambda: all(one.identity for one in world.registrations.registered()))


async def test_a_stale_socket_holds_up_nobody(world: World) -> None:
    for number in range(3):
        listen(world.directory / f"stale-{number}.sock")
    async with world.running(), world.registrar():
        assert world.told == [ACCEPTED]


async def test_a_topology_that_contradicts_the_node_is_refused(world: World) -> None:
    world.driver.state.topology = {"zone": "a"}
    async with world.running(has_node=False):
        world.create_node(zone="b")
        async with world.registrar():
            assert "detected topology value collision" in world.told[0].error
            assert world.entries() == []
            assert IDS not in world.node().metadata.annotations
            assert world.drivers.find(DRIVER) is None


async def test_a_node_that_is_made_anew_hears_of_all_drivers(world: World) -> None:
    async with world.running(), world.registrar():
        world.server.delete(world.node())
        world.create_node()
        await until(lambda: IDS in world.node().metadata.annotations)
        owner = world.server.get(CsiNode, KEY).metadata.owner_references[0]
        assert owner.uid == world.node().uid
        await until(lambda: world.entries() == [DRIVER])


async def test_a_driver_that_goes_while_the_api_is_away_is_struck_off_later(world: World) -> None:
    async with world.running():
        async with world.registrar():
            world.client.fail("get", ConnectionLost("away"), times=4)
        await until(lambda: world.drivers.find(DRIVER) is None)
        await until(lambda: world.entries() == [])
        await until(lambda: IDS not in world.node().metadata.annotations)


async def test_something_that_is_no_registrar_is_left_alone(world: World) -> None:
    async with FakeCsiDriver(world.directory / "driver.sock"), world.running(), world.registrar():
        assert world.told == [ACCEPTED]
        assert [one.name for one in world.registrations.registered()] == [DRIVER]
