"""Every story ends well though the API server comes and goes, forgets, or prefers others."""

from collections import Counter
from collections.abc import Callable

import pytest

from mooring.errors import ConnectionLost
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.reconcile.worker import PASSING_SECONDS
from tests.fakes.clock import settle
from tests.fakes.objects import CLAIMS, VOLUMES, a_claim, a_volume
from tests.scenarios.faults.stories import STORIES, Story, how_it_ended
from tests.scenarios.faults.trouble import Race
from tests.scenarios.faults.world import World

OFTEN = 3  # how often trouble strikes before it gets bored

Strike = Callable[[World], None]


def some_times(strike: Callable[[], None]) -> Callable[[], None]:
    left = OFTEN

    def once_more() -> None:
        nonlocal left
        if left:
            left -= 1
            strike()

    return once_more


def restarts(world: World) -> None:
    """The server is gone after each write, and comes back within a second."""
    world.trouble.after_write = some_times(world.trouble.go_down)


def loses_answers(world: World) -> None:
    """Writes are done, and nobody learns of it."""
    world.trouble.loses_answers = OFTEN


def cuts_watches(world: World) -> None:
    world.trouble.after_write = some_times(
        lambda: world.trouble.cut(ConnectionLost("the stream broke"))
    )


def forgets(world: World) -> None:
    """410: what the watches were about to read is history no longer."""
    world.trouble.after_write = some_times(world.trouble.expire)


def prefers_a_rival(world: World) -> None:
    """409: somebody writes every object first, time and again."""
    world.trouble.rival = a_rival(world, OFTEN)


def a_rival(world: World, often: int) -> Race:
    lost: Counter[Key] = Counter()

    async def write_first(seen: ApiObject) -> None:
        lost[seen.key] += 1
        if lost[seen.key] <= often:
            collection = VOLUMES if not seen.namespace else CLAIMS
            if seen.resource.kind in ("PersistentVolume", "PersistentVolumeClaim"):
                note = {"metadata": {"annotations": {"rival": str(lost[seen.key])}}}
                await world.api.patch(f"{collection}/{seen.name}", note)

    return write_first


TROUBLES: dict[str, Strike] = {
    "the server restarts": restarts,
    "answers get lost": loses_answers,
    "watches are cut": cuts_watches,
    "history is forgotten": forgets,
    "a rival writes first": prefers_a_rival,
}


@pytest.mark.parametrize("strike", TROUBLES.values(), ids=TROUBLES)
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_a_story_with_trouble(world: World, story: Story, strike: Strike) -> None:
    world.patience = 5
    async with world.binder():
        strike(world)
        await story.happens(world)
        for _ in range(3):
            await world.run_pods()
            await world.settle()
            await world.check()
        assert await how_it_ended(world) == (story.volumes, story.claims)
    saved = {doc["metadata"]["name"] for doc in await world.all(VOLUMES)}
    assert world.plugin.assets <= saved, "something is left behind"
    assert bool(world.wiped) is story.wipes


async def test_a_crowd_is_bound_one_to_one_while_watches_break_all_the_time(world: World) -> None:
    count = 30
    async with world.binder():
        for i in range(count):
            await world.api.post(VOLUMES, a_volume(f"v{i}", storage=f"{i + 1}Gi"))
            await world.api.post(CLAIMS, a_claim(f"c{i}", storage=f"{i + 1}Gi"))
            await settle(i % 7)
            if i % 3 == 0:
                world.trouble.cut(ConnectionLost("the stream broke"))
            if i % 10 == 5:
                world.trouble.expire()
        for _ in range(30):
            await world.passes(1)
            await world.check()
        bound = [await world.claim(f"c{i}") for i in range(count)]
        assert bound == [f"Bound v{i} {i + 1}Gi" for i in range(count)]


async def test_a_storm_of_conflicts_that_never_ends_is_met_with_patience(world: World) -> None:
    """The rival's own write wakes us: without patience the two would chase each other."""
    async with world.binder() as binder:
        world.trouble.rival = a_rival(world, 10**9)
        await world.create(VOLUMES, a_volume())
        await world.create(CLAIMS, a_claim())
        await world.passes(10)
        tried, added = world.trouble.writes(), binder.queue.counts.adds
        await world.passes(60)
        assert world.trouble.writes() - tried <= 2 * 61
        assert binder.queue.counts.adds - added <= 2 * 61
        assert await world.claim() == "Pending"
        world.trouble.rival = None
        await world.passes(PASSING_SECONDS)
        assert await world.claim() == "Bound disk 5Gi"


async def test_a_server_that_is_away_for_an_hour_is_not_stormed(world: World) -> None:
    async with world.binder() as binder:
        await world.create(VOLUMES, a_volume())
        await world.passes(1)
        world.trouble.go_down()
        await world.create(CLAIMS, a_claim())
        before = binder.queue.counts.adds
        await world.passes(3600)
        assert binder.queue.counts.adds - before <= 2 * (3600 / PASSING_SECONDS + 20)
        world.trouble.come_back()
        await world.passes(2 * PASSING_SECONDS)
        assert await world.claim() == "Bound disk 5Gi"
