"""Limits that change are asked for again."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from mooring.model.csi_node import CsiNode
from mooring.model.node import Node
from mooring.node.registration.announce import Announcer
from mooring.node.registration.limits import VolumeLimits
from mooring.plugins.csi.drivers import Drivers
from mooring.testing.csi_state import CsiState
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.csi_played import Fault, PlayedConnection, registered
from tests.fakes.fake_server import FakeServer
from tests.unit.node.registration.world import DRIVER, KEY, NODE, OwnNode
from tests.unit.plugins.csi.world import PlayedDriverObjects


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        client = FakeClient(self.server, self.clock)
        self.state = CsiState()
        self.connection = PlayedConnection(self.state)
        self.drivers = Drivers()
        self.objects = PlayedDriverObjects()
        rng = random.Random(1)  # noqa: S311  no secret
        announcer = Announcer(client, OwnNode(client), self.clock, rng)
        self.limits = VolumeLimits(self.drivers, self.objects, announcer, self.clock)
        self.server.create(Node, {"metadata": {"name": NODE}})

    def register(self) -> None:
        for driver in registered(self.connection):
            self.drivers.put(driver)

    def limit(self) -> int | None:
        found = self.server.find(CsiNode, KEY)
        entry = None if found is None else found.find_driver(DRIVER)
        return None if entry is None else entry.most_volumes

    def asked(self) -> int:
        return len(self.connection.of(pb.NodeGetInfoRequest))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    running = asyncio.create_task(world.limits.run())
    await settle()
    yield world
    running.cancel()
    await asyncio.wait([running])


async def test_as_often_as_the_driver_wants(world: World) -> None:
    world.objects.define(nodeAllocatableUpdatePeriodSeconds=60)
    world.register()
    await world.clock.advance(59)
    assert world.asked() == 0
    for volumes in (5, 6):
        world.state.max_volumes = volumes
        await world.clock.advance(60)
        assert world.limit() == volumes
    assert world.asked() == 2


async def test_never_if_it_does_not(world: World) -> None:
    world.objects.define()
    world.register()
    await world.clock.advance(10_000)
    assert world.asked() == 0


async def test_from_the_moment_that_it_does(world: World) -> None:
    world.register()
    await world.clock.advance(100)
    world.objects.define(nodeAllocatableUpdatePeriodSeconds=60)
    world.limits.changed(None, None)
    await settle()
    assert world.asked() == 1


async def test_at_once_when_the_node_was_found_full(world: World) -> None:
    world.objects.define()
    world.state.max_volumes = 3
    world.register()
    world.drivers.found_full(DRIVER)
    await settle()
    assert (world.asked(), world.limit()) == (1, 3)


async def test_a_driver_that_does_not_answer_is_asked_again(world: World) -> None:
    world.objects.define(nodeAllocatableUpdatePeriodSeconds=60)
    world.state.max_volumes = 3
    world.register()
    world.connection.fail("NodeGetInfo", Fault(Code.UNAVAILABLE))
    await world.clock.advance(61)
    assert (world.asked(), world.limit()) == (1, None)
    await world.clock.advance(60)
    assert (world.asked(), world.limit()) == (2, 3)


async def test_a_driver_that_is_gone_is_not_asked(world: World) -> None:
    world.objects.define(nodeAllocatableUpdatePeriodSeconds=60)
    world.register()
    world.drivers.drop(DRIVER)
    world.drivers.found_full(DRIVER)
    await world.clock.advance(1000)
    assert world.asked() == 0
