"""This machine as the API knows it."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from mooring.model.node import Node
from mooring.node.own_node import WatchedNode
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

NAME = "worker-1"
ATTACHED = {"volumesAttached": [{"name": "v", "devicePath": "/dev/x"}]}


class World:
    def __init__(self) -> None:
        clock = VirtualClock()
        self.server = FakeServer(clock)
        self.client = FakeClient(self.server, clock)
        rng = random.Random(1)  # noqa: S311  no secret
        self.node = WatchedNode(self.client, clock, rng, NAME, {"here": "yes"}, {"memory": "1Gi"})

    def create(self, name: str = NAME, **fields: object) -> Node:
        return self.server.create(Node, {"metadata": {"name": name}, **fields})


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    running = asyncio.create_task(world.node.informer.run())
    await settle()
    yield world
    running.cancel()
    await asyncio.wait([running])


async def test_before_it_is_registered_it_is_what_the_machine_is(world: World) -> None:
    assert world.node.labels() == {"here": "yes"}
    assert world.node.allocatable() == {"memory": "1Gi"}
    assert world.node.attached() == {}


async def test_once_registered_it_is_what_the_api_says(world: World) -> None:
    metadata = {"name": NAME, "labels": {"zone": "a"}}
    status = {"allocatable": {"memory": "2Gi"}}
    world.server.create(Node, {"metadata": metadata, "status": status})
    world.create("another", status={"allocatable": {"memory": "3Gi"}})
    await settle()
    assert world.node.labels() == {"zone": "a"}
    assert world.node.allocatable() == {"memory": "2Gi"}


async def test_volumes_that_come_go_and_move_are_told_by_name(world: World) -> None:
    told: list[list[str]] = []
    world.node.on_attached_change(lambda names: told.append(list(names)))
    node = world.create()
    await settle()
    for attached in ({"v": "/dev/x"}, {"v": "/dev/y", "w": "/dev/z"}, {}):
        volumes = [{"name": name, "devicePath": at} for name, at in attached.items()]
        node = world.server.patch(node, {}, {"volumesAttached": volumes})
        await settle()
        assert world.node.attached() == attached
    node = world.server.patch(node, {"metadata": {"labels": {"a": "b"}}}, {})
    await settle()
    assert told == [["v"], ["v", "w"], ["v", "w"]]


async def test_the_newest_is_read_and_remembered(world: World) -> None:
    world.client.is_held = True  # the watch brings nothing
    world.create(status=ATTACHED)
    assert (await world.node.read()).name == NAME
    assert world.node.attached() == {"v": "/dev/x"}
