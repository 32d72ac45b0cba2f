"""One node name, one machine."""

import asyncio

import pytest

from mooring.errors import Conflict, ConnectionLost, Forbidden, Unauthorized, UsageError
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.timestamp import to_micros
from mooring.node.instance import ANNOTATION
from mooring.node.status.claim import ClaimView, Refuse, Take, Wait, claim_name, decide_claim
from mooring.node.status.goodbye import say_goodbye
from mooring.node.status.heartbeat import Heartbeat, Holding
from tests.fakes.clock import settle
from tests.unit.node.status.world import NAME, World

KEY = Key("kube-node-lease", NAME)
MINE, THEIRS = "here_1", "there_2"

CLAIMS = {
    "a name that nobody has is taken": (ClaimView(MINE), Take),
    "a restart has its own name at once": (ClaimView(MINE, "before_1"), Take),
    "a machine that is renewing keeps it": (
        ClaimView(MINE, THEIRS, was_renewed=True, age=900.0, silent_for=90.0),
        Refuse,
    ),
    "of a machine heard of lately one waits to hear": (ClaimView(MINE, THEIRS, age=5.0), Wait),
    "whose clock is ahead, too": (ClaimView(MINE, THEIRS, age=-3600.0, silent_for=39.0), Wait),
    "one that was silent for a lease is replaced": (
        ClaimView(MINE, THEIRS, age=-3600.0, silent_for=40.0),
        Take,
    ),
    "one that is long silent is replaced at once": (ClaimView(MINE, THEIRS, age=80.0), Take),
    "one that said goodbye is replaced at once": (ClaimView(MINE, THEIRS, has_left=True), Take),
}


@pytest.mark.parametrize(("view", "verdict"), CLAIMS.values(), ids=CLAIMS)
def test_claiming(view: ClaimView, verdict: type[object]) -> None:
    assert type(decide_claim(view)) is verdict


@pytest.fixture
async def world() -> World:
    return World()


def holder(world: World) -> str:
    return world.server.get(Lease, KEY).metadata.annotations.get(ANNOTATION, "")


async def claim(world: World, instance: str) -> "asyncio.Task[None]":
    task = asyncio.create_task(claim_name(world.client, world.clock, NAME, instance))
    await settle()
    return task


async def lease_of(world: World, instance: str) -> None:
    await claim_name(world.client, world.clock, NAME, instance)


async def test_a_first_machine_has_the_name_at_once(world: World) -> None:
    await lease_of(world, MINE)
    lease = world.server.get(Lease, KEY)
    assert (holder(world), lease.spec.holder_identity) == (MINE, NAME)
    assert lease.spec.renew_time == to_micros(world.clock.now())


async def test_a_second_machine_is_refused_when_the_first_one_is_heard(world: World) -> None:
    await lease_of(world, THEIRS)
    second = await claim(world, MINE)
    assert not second.done()
    await world.clock.advance(5)
    seen = world.server.get(Lease, KEY)
    await world.client.patch(seen, {"spec": {"renewTime": to_micros(world.clock.now())}})
    await world.clock.advance(2)
    with pytest.raises(UsageError, match=r"another machine \(there\) is the node worker-1") as told:
        await second
    assert "mooring token create" in str(told.value)
    assert holder(world) == THEIRS


async def test_a_dead_machine_is_replaced_after_its_lease(world: World) -> None:
    await lease_of(world, THEIRS)
    second = await claim(world, MINE)
    await world.clock.advance(38)
    assert not second.done()
    await world.clock.advance(4)
    await second
    assert holder(world) == MINE


async def test_a_machine_that_said_goodbye_is_replaced_at_once(world: World) -> None:
    async with world.running():
        pass
    await claim_name(world.client, world.clock, NAME, THEIRS)
    await say_goodbye(world.client, world.clock, NAME)
    await (await claim(world, MINE))
    assert holder(world) == MINE


async def test_of_two_that_start_at_once_one_has_it(world: World) -> None:
    both = [await claim(world, MINE), await claim(world, THEIRS)]
    await world.clock.advance(1)
    assert [task.done() for task in both] == [True, False]
    both[1].cancel()
    assert holder(world) == MINE


async def test_it_waits_for_the_server_and_repeats_a_lost_race(world: World) -> None:
    world.client.fail("get", ConnectionLost("gone"), times=3)
    world.client.fail("create", Conflict("somebody wrote"))
    task = await claim(world, MINE)
    await world.clock.advance(10)
    await task
    assert holder(world) == MINE


async def test_credentials_that_are_not_taken_are_said_with_the_remedy(world: World) -> None:
    world.client.fail("get", Unauthorized("Unauthorized"))
    with pytest.raises(UsageError, match="mooring token create --node worker-1"):
        await claim_name(world.client, world.clock, NAME, MINE)


async def test_a_server_that_shows_no_leases_is_no_hindrance(world: World) -> None:
    world.client.fail("get", Forbidden("not yours"))
    await claim_name(world.client, world.clock, NAME, MINE)


def beating(world: World, holding: Holding) -> Heartbeat:
    made = Heartbeat(world.client, world.clock, world.rng, world.own_node, holding)
    world.heartbeat = made
    return made


async def taken_over(world: World) -> None:
    seen = world.server.get(Lease, KEY)
    await world.client.patch(seen, {"metadata": {"annotations": {ANNOTATION: THEIRS}}})
    await world.clock.advance(10)


async def test_a_node_whose_name_was_taken_over_ends(world: World) -> None:
    heartbeat = beating(world, Holding(MINE))
    running = asyncio.create_task(heartbeat.run())
    await settle()
    assert holder(world) == MINE
    await world.clock.advance(100)
    assert not running.done()
    await taken_over(world)
    with pytest.raises(UsageError, match=r"another machine \(there\)"):
        await running
    assert holder(world) == THEIRS


async def test_the_node_beside_the_server_insists(world: World) -> None:
    running = asyncio.create_task(beating(world, Holding(MINE, insists=True)).run())
    await settle()
    await taken_over(world)
    assert not running.done()
    assert holder(world) == MINE
    running.cancel()
