"""The lease of a node: renewed every ten seconds, whatever becomes of it."""

from collections.abc import AsyncIterator

import pytest

from mooring.errors import Conflict, ConnectionLost
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.timestamp import to_micros
from tests.fakes.clock import settle
from tests.unit.node.status.world import NAME, World

KEY = Key("kube-node-lease", NAME)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World().running() as world:
        yield world


def renewed(world: World) -> str | None:
    return world.server.get(Lease, KEY).spec.renew_time


async def test_it_names_the_node_and_goes_with_it(world: World) -> None:
    await world.clock.advance(10)
    lease = world.server.get(Lease, KEY)
    assert lease.spec.holder_identity == NAME
    assert lease.spec.lease_duration_seconds == 40
    assert [owner.uid for owner in lease.metadata.owner_references] == [world.node().uid]


async def test_it_is_renewed_every_ten_seconds_with_one_write(world: World) -> None:
    world.client.calls.clear()
    await world.clock.advance(10)
    assert renewed(world) == to_micros(world.clock.now())
    await world.clock.advance(100)
    about = [call for call in world.client.calls if "Lease" in call]
    assert about == [f"patch Lease {KEY}"] * 11


async def test_one_that_was_deleted_is_made_again(world: World) -> None:
    world.server.delete(world.server.get(Lease, KEY), None)
    await world.clock.advance(10)
    assert renewed(world) == to_micros(world.clock.now())


async def test_one_that_somebody_wrote_is_read_and_renewed(world: World) -> None:
    world.client.fail("patch", Conflict("somebody wrote"))
    await world.clock.advance(10)
    assert renewed(world) == to_micros(world.clock.now())


async def test_trouble_is_waited_out(world: World) -> None:
    world.client.fail("patch", ConnectionLost("gone"), times=3)
    await world.clock.advance(15)
    before = renewed(world)
    await world.clock.advance(15)
    assert renewed(world) != before


async def test_a_server_that_never_answers_does_not_stop_it(world: World) -> None:
    world.client.stall()
    await world.clock.advance(40)
    world.client.go_on()
    await world.clock.advance(20)
    await settle()
    assert (renewed(world) or "") > to_micros(world.clock.now())[:17]
