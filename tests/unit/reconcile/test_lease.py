import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from mooring.errors import (
    ApiError,
    ConnectionLost,
    Forbidden,
    NotFound,
    ServerError,
    Unauthorized,
)
from mooring.reconcile.lease import LeaderElection
from tests.fakes.client import FakeClient
from tests.fakes.clock import settle
from tests.unit.reconcile.election_world import KEY, OwnClock, World, a_world

START = "2026-01-02T03:04:05.000000Z"


async def test_the_first_candidate_leads_at_once() -> None:
    async with a_world() as world:
        world.candidate("a").start()
        await settle()
        assert world.leaders == ["a"]
        spec = world.lease.spec
        assert (spec.holder_identity, spec.lease_duration_seconds) == ("a-1", 15)
        assert (spec.acquire_time, spec.renew_time) == (START, START)
        assert spec.lease_transitions == 0


async def test_the_leader_renews_every_two_seconds() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await world.clock.advance(21)
        assert a.client.calls.count("patch Lease kube-system/binder") == 10
        assert world.lease.spec.renew_time == "2026-01-02T03:04:25.000000Z"
        assert world.lease.spec.acquire_time == START


async def test_others_wait() -> None:
    async with a_world() as world:
        for name in "abc":
            world.candidate(name).start()
        await world.clock.advance(600)
        assert len(world.leaders) == world.terms == 1


async def test_a_leader_that_stops_hands_over_at_once() -> None:
    async with a_world() as world:
        a, b = world.candidate("a"), world.candidate("b")
        a.start()
        await settle()
        b.start()
        await world.clock.advance(10)
        await a.stop()
        spec = world.lease.spec
        assert (spec.holder_identity, spec.lease_duration_seconds) == ("", 1)
        assert await world.until(lambda: world.leaders == ["b"], most=5) <= 4.5
        spec = world.lease.spec
        assert (spec.holder_identity, spec.lease_transitions) == ("b-1", 1)
        assert spec.acquire_time == spec.renew_time != START


async def test_the_lease_is_not_released_before_the_work_has_come_to_rest() -> None:
    async with a_world() as world:
        a = world.candidate("a", rest=3)
        a.start()
        await settle()
        await a.stop()
        await world.clock.advance(2.9)
        assert world.lease.spec.holder_identity == "a-1"
        await world.clock.advance(0.1)
        assert world.lease.spec.holder_identity == ""


async def test_a_leader_that_died_is_followed_when_its_lease_has_run_out() -> None:
    async with a_world() as world:
        a, b = world.candidate("a"), world.candidate("b")
        a.start()
        await settle()
        b.start()
        await world.clock.advance(9)
        a.client.is_offline = True
        await a.stop()  # offline, it cannot release
        assert world.lease.spec.holder_identity == "a-1"
        assert 14 <= await world.until(lambda: world.leaders == ["b"], most=30) <= 20
        assert world.lease.spec.lease_transitions == 1


async def test_a_leader_that_is_cut_off_stops_before_another_starts() -> None:
    async with a_world() as world:
        a, b = world.candidate("a", rest=1), world.candidate("b")
        a.start()
        await settle()
        b.start()
        await world.clock.advance(20)
        a.client.stall()
        assert 8 <= await world.until(lambda: world.leaders == [], most=30) <= 11.5
        assert await world.until(lambda: world.leaders == ["b"], most=30) >= 3
        a.client.go_on()
        await world.clock.advance(60)
        assert world.leaders == ["b"]


async def test_a_short_outage_changes_nothing() -> None:
    async with a_world() as world:
        a, b = world.candidate("a"), world.candidate("b")
        a.start()
        await settle()
        b.start()
        a.client.is_offline = True
        await world.clock.advance(7)
        a.client.go_on()
        await world.clock.advance(60)
        assert (world.leaders, world.terms) == (["a"], 1)


async def test_a_renewal_whose_answer_was_lost_is_found_out_about() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        a.client.fail("patch", ConnectionLost("lost"), times=3, applied=True)
        await world.clock.advance(60)
        assert (world.leaders, world.terms) == (["a"], 1)


async def test_a_leader_that_sees_another_in_its_place_stops_at_once() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        world.server.patch(world.lease, {"spec": {"holderIdentity": "usurper"}}, {})
        await world.clock.advance(2)
        assert world.leaders == []


async def test_a_lease_deleted_by_hand_is_given_up_then_fought_for_again() -> None:
    async with a_world() as world:
        world.candidate("a").start()
        await settle()
        world.server.delete(world.lease)
        await world.clock.advance(2)
        assert (world.leaders, world.terms) == (["a"], 2)


async def test_an_answer_that_comes_too_late_makes_no_leader() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.client.latency = lambda: (0.0, 9.0)  # get and create together are too slow
        a.start()
        await world.clock.advance(200)
        assert world.terms == 0


async def test_a_term_begins_when_the_renewal_was_sent_not_when_its_answer_came() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        a.client.latency = lambda: (0.0, 7.0)
        await world.clock.advance(9.5)  # sent at 2, answered at 9
        a.client.stall()
        await world.clock.advance(2)
        assert world.leaders == ["a"]
        await world.clock.advance(1)
        assert world.leaders == []


async def test_a_process_that_slept_through_its_term_does_not_begin_to_lead() -> None:
    async with a_world() as world:
        clock = OwnClock(world.clock)

        class Sleepy(FakeClient):
            async def create(self, kind: Any, doc: Any) -> Any:
                created = await super().create(kind, doc)
                clock.ahead += 11
                return created

        a = world.candidate("a")
        a.client = Sleepy(world.server, clock)
        a.clock = clock
        a.start()
        await settle()
        assert world.lease.spec.holder_identity == "a-1"
        assert world.terms == 0
        await world.clock.advance(5)
        assert world.leaders == ["a"], "renewed, it leads"


async def test_a_server_out_of_reach_does_not_hold_up_the_end() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.start()
        await settle()
        a.client.stall()
        await a.stop()
        await world.clock.advance(2)
        assert not a.is_running


async def test_trouble_with_the_server_is_waited_out() -> None:
    async with a_world() as world:
        a = world.candidate("a")
        a.client.fail("get", ServerError("oh"), times=3)
        a.client.fail("create", ConnectionLost("lost"), applied=True)
        a.start()
        await world.clock.advance(30)
        assert (world.leaders, world.terms) == (["a"], 1)


@pytest.mark.parametrize(
    ("call", "refusal"),
    {
        "a right is missing": ("get", Forbidden("leases is forbidden")),
        "the token is no good": ("get", Unauthorized("unauthorized")),
        "there is no such namespace": ("create", NotFound("namespaces storage not found")),
    }.values(),
    ids=("a right is missing", "the token is no good", "there is no such namespace"),
)
async def test_who_is_refused_the_lease_is_told_once(
    caplog: pytest.LogCaptureFixture, call: str, refusal: ApiError
) -> None:
    async with a_world() as world:
        candidate = world.candidate("a")
        candidate.client.fail(call, refusal, times=5)
        candidate.start()
        await world.clock.advance(9)
        assert world.leaders == []
    (told,) = (record.getMessage() for record in caplog.records)
    for word in ("NOTHING IS SERVED", str(KEY), str(refusal), "remedy="):
        assert word in told


async def test_a_lease_that_is_not_there_yet_or_anothers_is_nothing_to_tell(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with a_world() as world:
        for name in "ab":
            world.candidate(name).start()
        await world.clock.advance(60)
    assert not caplog.records


async def run_once(world: World, lead: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    client = FakeClient(world.server, world.clock)
    rng = Random(1)  # noqa: S311 - repeatable, not secret
    election = LeaderElection(client, world.clock, rng, KEY, "me")
    task = asyncio.create_task(election.run(lead))
    await world.clock.advance(1)
    return task


async def test_work_that_ends_by_itself_ends_the_election() -> None:
    async def lead() -> None:
        await settle(2)

    async with a_world() as world:
        task = await run_once(world, lead)
        await task
        assert not world.lease.is_held


async def test_work_that_fails_releases_and_fails() -> None:
    async def lead() -> None:
        raise ZeroDivisionError

    async with a_world() as world:
        task = await run_once(world, lead)
        with pytest.raises(ZeroDivisionError):
            await task
        assert not world.lease.is_held


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["back", "forward"])
async def test_setting_the_clock_neither_ends_a_term_nor_keeps_a_lease_for_ever(
    ahead: float,
) -> None:
    async with a_world() as world:
        a, b = world.candidate("a"), world.candidate("b")
        a.start()
        await settle()
        b.start()
        await world.clock.advance(9)
        world.clock.set_wall(ahead)
        await world.clock.advance(60)
        assert (world.leaders, world.terms) == (["a"], 1)
        a.client.is_offline = True
        await a.stop()  # offline, it cannot release
        world.clock.set_wall(ahead)
        assert await world.until(lambda: world.leaders == ["b"], most=30) <= 20
