import asyncio
from typing import Any

import pytest

from mooring.client.contract import Scope
from mooring.errors import (
    BadRequest,
    ConnectionLost,
    Expired,
    Forbidden,
    MooringError,
    ServerError,
    TooManyRequests,
)
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.reconcile.reflector import GRACE_SECONDS, STEADY_SECONDS
from tests.fakes.client import FakeClient
from tests.fakes.clock import settle
from tests.unit.reconcile.reflector_world import World


@pytest.fixture
def world() -> World:
    return World()


async def test_what_is_there_is_told_before_it_is_synced(world: World) -> None:
    world.create("a")
    world.create("b")
    assert not world.informer.synced.is_set()
    async with world.running():
        assert world.informer.synced.is_set()
        assert world.told == [("a", "x"), ("b", "x")]
        assert world.informer.get(Key("", "a")) == world.of_server()["a"]
        assert world.informer.get(Key("", "c")) is None


async def test_changes_are_told_as_they_happen(world: World) -> None:
    async with world.running():
        world.create("a")
        await settle()
        world.modify("a", "y")
        await settle()
        world.delete("a")
        await settle()
    assert world.told == [("a", "x"), ("a", "y"), ("a", None)]
    assert world.verbs() == ["list", "watch"]


async def test_a_list_on_request_brings_what_the_watch_has_not(world: World) -> None:
    async with world.running():
        world.client.is_held = True
        world.create("a")
        await settle()
        assert world.told == []
        await world.informer.relist()
        assert world.told == [("a", "x")]
        assert world.verbs().count("list") == 2
        world.client.go_on()
        world.create("b")
        await settle()
        assert world.told == [("a", "x"), ("b", "x")]


async def test_a_list_that_had_begun_before_the_request_is_not_enough(world: World) -> None:
    world.client.latency = lambda: (0.0, 1.0)  # the answer is under way for a second
    async with world.running():
        world.create("late")  # the first list has been answered without it
        asked = asyncio.create_task(world.informer.relist())
        await world.clock.advance(1)
        assert world.informer.synced.is_set()
        assert not asked.done()
        assert world.told == []
        await world.clock.advance(1)
        await asked
        assert world.told == [("late", "x")]


async def test_only_its_scope() -> None:
    world = World(Scope(labels="keep=yes"))
    world.create("in", keep="yes")
    world.create("out", keep="no")
    async with world.running():
        world.create("later", keep="yes")
        held = world.server.get(Volume, Key("", "in"))
        world.server.patch(held, {"metadata": {"labels": {"keep": "no"}}}, {})
        await settle()
    assert world.told == [("in", "x"), ("later", "x"), ("in", None)]


async def test_an_own_write_that_leaves_the_scope_goes_when_the_watch_says_so() -> None:
    world = World(Scope(labels="keep=yes"))
    world.create("a", keep="yes")
    async with world.running():
        held = world.server.get(Volume, Key("", "a"))
        world.informer.fold(world.server.patch(held, {"metadata": {"labels": None}}, {}))
        assert len(world.informer) == 1
        await settle()
        assert len(world.informer) == 0


async def test_an_own_write_is_there_at_once_and_its_echo_is_not_told(world: World) -> None:
    world.create("a")
    async with world.running():
        world.informer.fold(world.modify("a", "y"))
        assert world.told == [("a", "x"), ("a", "y")]
        await settle()
        assert world.told == [("a", "x"), ("a", "y")]


# broken streams

BREAKS = {
    "the stream breaks": FakeClient.cut,
    "the server ends it in good order": FakeClient.end_streams,
}


@pytest.mark.parametrize("stop", BREAKS.values(), ids=BREAKS)
async def test_a_stream_is_resumed_where_it_was(world: World, stop: Any) -> None:
    async with world.running():
        world.create("a")
        await settle()
        stop(world.client)
        world.create("b")
        world.modify("a", "y")
        await world.clock.advance(1)
    assert world.told == [("a", "x"), ("b", "x"), ("a", "y")]
    assert world.verbs() == ["list", "watch", "watch"]


async def test_a_stream_that_lasted_is_resumed_at_once(world: World) -> None:
    async with world.running():
        await world.clock.advance(STEADY_SECONDS)
        world.client.cut()
        world.create("a")
        await settle()
        assert world.told == [("a", "x")]


async def test_a_stream_that_breaks_again_and_again_is_not_resumed_in_a_hurry(
    world: World,
) -> None:
    async with world.running():
        for _ in range(100):
            world.client.cut()
            await world.clock.advance(1)
    assert 10 <= world.informer.counts.watches <= 25


async def test_a_stream_that_brings_something_before_it_breaks_is_resumed_soon(
    world: World,
) -> None:
    async with world.running():
        for number in range(20):
            world.create(f"v{number}")
            await settle()
            world.client.cut()
            await world.clock.advance(0.3)
    assert len(world.told) == 20
    assert world.informer.counts.watches == 21


async def test_a_bookmark_moves_the_place_to_resume_from(world: World) -> None:
    async with world.running():
        world.create("a")
        await settle()
        for number in range(5):  # none of its business, but they move the server on
            metadata = {"name": f"claim-{number}", "namespace": "default"}
            world.server.create(Claim, {"metadata": metadata})
        world.server.bookmark()
        await settle()
        world.server.forget_history()
        world.client.cut()
        await world.clock.advance(1)
    assert world.verbs() == ["list", "watch", "watch"]


async def test_history_forgotten_everything_is_listed_again_and_the_difference_told(
    world: World,
) -> None:
    for name in "abc":
        world.create(name)
    async with world.running():
        world.told.clear()
        world.client.is_offline = True
        world.client.cut()
        await settle()
        world.delete("a")
        world.modify("b", "y")
        world.create("d")
        world.server.forget_history()
        world.client.go_on()
        await world.clock.advance(20)
        assert world.told == [("a", None), ("b", "y"), ("d", "x")]
        assert world.verbs().count("list") == 2
        world.modify("c", "y")
        await settle()
        assert world.told[3:] == [("c", "y")]


async def test_after_a_long_absence_the_list_follows_at_once(world: World) -> None:
    async with world.running():
        world.client.is_offline = True
        world.client.cut()
        await world.clock.advance(100)
        world.create("a")
        world.server.forget_history()
        world.client.go_on()
        tries = len(world.client.calls)
        while len(world.client.calls) == tries:
            await world.clock.advance(0.1)
        assert world.told == [("a", "x")]


async def test_deleted_and_made_again_unseen_one_goes_and_one_comes(world: World) -> None:
    world.create("a")
    async with world.running():
        world.client.is_held = True
        world.delete("a")
        world.create("a", "y")
        world.server.forget_history()
        world.client.cut()
        world.client.go_on()
        await world.clock.advance(5)
    assert world.told == [("a", "x"), ("a", None), ("a", "y")]


TROUBLES: dict[str, tuple[str, MooringError, list[str]]] = {
    "no connection for the list: list again": (
        "list",
        ConnectionLost("refused"),
        ["list", "list", "watch"],
    ),
    "not allowed to list: ask again, someone may grant it": (
        "list",
        Forbidden("no"),
        ["list", "list", "watch"],
    ),
    "no connection for the watch: watch again": (
        "watch",
        ConnectionLost("refused"),
        ["list", "watch", "watch"],
    ),
    "a busy server is not burdened with a list": (
        "watch",
        TooManyRequests("later"),
        ["list", "watch", "watch"],
    ),
    "nor one in trouble": ("watch", ServerError("oh"), ["list", "watch", "watch"]),
    "a watch that is not understood: list again": (
        "watch",
        BadRequest("what?"),
        ["list", "watch", "list", "watch"],
    ),
    "a watch that expired: list again": (
        "watch",
        Expired("too old"),
        ["list", "watch", "list", "watch"],
    ),
}


@pytest.mark.parametrize(("verb", "error", "calls"), TROUBLES.values(), ids=TROUBLES)
async def test_trouble(world: World, verb: str, error: MooringError, calls: list[str]) -> None:
    world.client.fail(verb, error)
    async with world.running():
        await world.clock.advance(1)
        world.create("a")
        await settle()
    assert world.told == [("a", "x")]
    assert world.verbs() == calls


async def test_a_server_that_stays_away_is_asked_less_and_less_often(world: World) -> None:
    world.client.is_offline = True
    async with world.running():
        await world.clock.advance(3600)
        assert 3600 / 15 <= len(world.client.calls) <= 3600 / 10 + 10
        assert not world.informer.synced.is_set()
        world.client.go_on()
        await world.clock.advance(15)
        assert world.informer.synced.is_set()


async def test_a_server_with_no_history_at_all_is_not_listed_in_a_hurry(world: World) -> None:
    world.client.fail("watch", Expired("too old"), times=1000)
    async with world.running():
        for number in range(100):
            world.create(f"v{number}")
            await world.clock.advance(1)
    assert world.informer.counts.lists <= 20


async def test_a_server_that_asks_for_time_gets_it(world: World) -> None:
    world.client.fail("list", TooManyRequests("later", retry_after=30))
    async with world.running():
        await world.clock.advance(29)
        assert world.verbs() == ["list"]
        await world.clock.advance(1)
        assert world.informer.synced.is_set()


# the slow resync

RESYNC = 600.0
ROUND = RESYNC * 1.1 + GRACE_SECONDS


async def test_a_healthy_watch_leaves_nothing_to_catch() -> None:
    world = World(resync_seconds=RESYNC)
    async with world.running():
        for number in range(200):
            world.create(f"v{number}")
            if number % 3:
                world.delete(f"v{number - 1}")
            await world.clock.advance(7)
        assert world.informer.counts.caught == 0
        assert world.verbs().count("list") == 3
        assert world.verbs().count("watch") == 1
        assert len(world.informer._listeners) == 1, "nothing is left of past comparisons"


async def test_what_the_watch_missed_is_caught_told_and_counted() -> None:
    world = World(resync_seconds=RESYNC)
    for name in "abc":
        world.create(name)
    async with world.running():
        world.told.clear()
        world.delete("a")
        world.server.lose_last_change()
        world.modify("b", "y")
        world.server.lose_last_change()
        world.create("d")
        world.server.lose_last_change()
        await settle()
        assert world.told == []
        await world.clock.advance(ROUND)
        assert world.told == [("a", None), ("b", "y"), ("d", "x")]
        assert world.informer.counts.caught == 3
        world.modify("c", "z")
        await world.clock.advance(1)
        assert world.told[3:] == [("c", "z")], "the new stream works"


async def test_a_server_set_back_to_an_earlier_state_is_found_out_about() -> None:
    world = World(resync_seconds=RESYNC)
    world.create("a")
    async with world.running():
        world.server.revision = 50  # others' changes
        world.server.bookmark()
        await settle()
        world.server.revision = 3
        await world.clock.advance(ROUND)
        assert world.informer.counts.caught == 1
        world.create("b")
        await world.clock.advance(1)
        assert world.told == [("a", "x"), ("b", "x")]


async def test_a_watch_gone_silent_is_replaced() -> None:
    world = World(resync_seconds=RESYNC)
    world.create("a")
    async with world.running():
        world.client.is_held = True
        world.modify("a", "y")
        await world.clock.advance(ROUND)
        assert world.informer.counts.caught == 1
        assert world.informer.get(Key("", "a")) == world.of_server()["a"]


async def test_a_change_on_its_way_is_not_missing() -> None:
    world = World(resync_seconds=RESYNC)
    world.create("a")
    async with world.running():
        await world.clock.advance(RESYNC - 1)
        world.client.is_held = True
        world.modify("a", "y")
        world.create("b")
        while world.verbs().count("list") == 1:
            await world.clock.advance(1)
        await world.clock.advance(GRACE_SECONDS - 1)
        world.client.go_on()
        world.delete("b")
        await world.clock.advance(GRACE_SECONDS)
        assert world.informer.counts.caught == 0


async def test_a_resync_that_fails_is_left_out() -> None:
    world = World(resync_seconds=RESYNC)
    async with world.running():
        world.client.fail("list", ConnectionLost("gone"))
        await world.clock.advance(2 * ROUND)
        assert world.informer.counts.caught == 0
        assert world.verbs().count("list") >= 3
