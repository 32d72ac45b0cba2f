"""What is written about drivers, whoever else writes meanwhile."""

import asyncio
import random
from collections.abc import Awaitable

import pytest

from mooring.csi.requests import NodeInfo
from mooring.csi.topology import Topology
from mooring.errors import Conflict, ConnectionLost
from mooring.model.csi_node import CsiNode
from mooring.model.node import Node
from mooring.model.wellknown import Annotation
from mooring.node.registration.announce import TRIES, Announcer, NotAnnounced
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer
from tests.unit.node.registration.world import KEY, NODE, OwnNode

D = "d.example.com"
INFO = NodeInfo("i-1", 5, Topology({"zone": "a"}))


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        rng = random.Random(1)  # noqa: S311  no secret
        self.announcer = Announcer(self.client, OwnNode(self.client), self.clock, rng)
        self.server.create(Node, {"metadata": {"name": NODE}})

    async def done(self, act: Awaitable[None]) -> None:
        """Pauses pass at once."""
        task = asyncio.ensure_future(act)
        while not task.done():
            await self.clock.advance(1)
        await task

    def csi_node(self) -> CsiNode:
        return self.server.get(CsiNode, KEY)

    def node(self) -> Node:
        return self.server.get(Node, KEY)


@pytest.fixture
async def world() -> World:
    return World()


async def test_a_driver_comes_and_goes(world: World) -> None:
    await world.done(world.announcer.install(D, INFO))
    assert world.csi_node().find_driver(D) is not None
    assert world.node().metadata.labels == {"zone": "a"}
    await world.done(world.announcer.uninstall(D))
    assert world.csi_node().spec.drivers == ()  # the object stays
    assert world.node().metadata.annotations == {}


async def test_what_is_there_is_not_written_again(world: World) -> None:
    await world.done(world.announcer.install(D, INFO))
    revision = world.server.revision
    await world.done(world.announcer.install(D, INFO))
    await world.done(world.announcer.prepare())
    await world.done(world.announcer.uninstall("other.example.com"))
    assert world.server.revision == revision


@pytest.mark.parametrize("error", [Conflict("raced"), ConnectionLost("cut")], ids=str)
async def test_a_lost_race_is_run_again(world: World, error: Conflict | ConnectionLost) -> None:
    world.client.fail("patch", error, times=TRIES - 1)
    await world.done(world.announcer.install(D, INFO))
    assert world.csi_node().find_driver(D) is not None


async def test_but_not_for_ever(world: World) -> None:
    world.client.fail("get", ConnectionLost("away"), times=TRIES)
    text = "error updating Node object with CSI driver node info: away"
    with pytest.raises(NotAnnounced, match=text):
        await world.done(world.announcer.install(D, INFO))


async def test_a_contradiction_is_not_tried_again(world: World) -> None:
    await world.done(world.announcer.install(D, INFO))
    other = NodeInfo("i-2", 0, Topology({"zone": "b"}))
    calls = len(world.client.calls)
    with pytest.raises(NotAnnounced, match="detected topology value collision"):
        await world.done(world.announcer.install("e.example.com", other))
    assert world.client.calls[calls:] == ["get Node n1"]
    assert world.csi_node().find_driver("e.example.com") is None


async def test_another_name_for_the_node_replaces_the_entry(world: World) -> None:
    """The API lets nobody change it in place."""
    await world.done(world.announcer.install(D, INFO))
    before = world.server.revision
    await world.done(world.announcer.update(D, NodeInfo("i-9", 5, INFO.topology)))
    entry = world.csi_node().find_driver(D)
    assert entry is not None
    assert entry.node_id == "i-9"
    assert world.server.revision == before + 2


async def test_a_limit_is_changed_in_place(world: World) -> None:
    await world.done(world.announcer.install(D, INFO))
    before = world.server.revision
    await world.done(world.announcer.update(D, NodeInfo("i-1", 6, INFO.topology)))
    assert world.server.revision == before + 1


async def test_what_an_earlier_node_left_is_replaced(world: World) -> None:
    await world.done(world.announcer.install(D, INFO))
    world.server.delete(world.node())
    world.server.create(Node, {"metadata": {"name": NODE}})
    await world.done(world.announcer.prepare())
    assert world.csi_node().spec.drivers == ()
    assert world.csi_node().metadata.owner_references[0].uid == world.node().uid


async def test_the_migrated_plugins_of_an_earlier_version_are_brought_up_to_date(
    world: World,
) -> None:
    await world.done(world.announcer.install(D, INFO))
    old = {"metadata": {"annotations": {Annotation.MIGRATED_PLUGINS: "kubernetes.io/cinder"}}}
    await world.client.patch(world.csi_node(), old)
    await world.done(world.announcer.prepare())
    assert "kubernetes.io/gce-pd" in world.csi_node().migrated_plugins
    assert world.csi_node().find_driver(D) is not None


async def test_many_at_once_lose_nothing(world: World) -> None:
    names = [f"d{number}.example.com" for number in range(8)]
    await world.done(_all(*(world.announcer.install(name, INFO) for name in names)))
    assert sorted(one.name for one in world.csi_node().spec.drivers or ()) == names


async def _all(*acts: Awaitable[None]) -> None:
    await asyncio.gather(*acts)
