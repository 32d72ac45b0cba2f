import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.errors import ConnectionLost, Forbidden, MooringError, TooManyRequests
from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ObjectReference
from mooring.model.volume import Volume
from mooring.reconcile.recorder import MOST_WAITING, REPEAT_SECONDS, Recorder, reference_to
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

CLAIM = ObjectReference(
    kind="PersistentVolumeClaim", api_version="v1", namespace="team", name="data", uid="u1"
)
NANOS = 1767323045 * 10**9  # of the time at which the clock starts


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.recorder = self.a_recorder("binder")

    def a_recorder(self, component: str, host: str = "") -> Recorder:
        rng = Random(1)  # noqa: S311 - repeatable, not secret
        return Recorder(self.client, self.clock, rng, component, host)

    def record(self, message: str = "no room", about: ObjectReference = CLAIM) -> None:
        self.recorder.record(about, "Warning", "ProvisioningFailed", message)

    def events(self) -> list[Event]:
        return list(self.server.list(Event).items)

    def counts(self) -> dict[str, int]:
        return {event.message: event.count for event in self.events()}

    @asynccontextmanager
    async def running(self, *others: Recorder) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(part.run()) for part in (self.recorder, *others)]
        await settle()
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks), "they run until they are cancelled"


@pytest.fixture
def world() -> World:
    return World()


async def test_an_event_as_people_read_it(world: World) -> None:
    recorder = world.a_recorder("binder", host="n1")
    async with world.running(recorder):
        recorder.record(CLAIM, "Warning", "ProvisioningFailed", "no room")
        await settle()
    (event,) = world.events()
    assert event.key == Key("team", f"data.{NANOS:x}")
    assert event.involved_object == CLAIM
    assert (event.type, event.reason, event.message) == ("Warning", "ProvisioningFailed", "no room")
    assert (event.source.component, event.source.host) == ("binder", "n1")
    assert (event.reporting_component, event.reporting_instance) == ("binder", "n1")
    assert event.first_timestamp == event.last_timestamp == "2026-01-02T03:04:05Z"
    assert event.count == 1


async def test_events_about_objects_of_the_cluster_are_in_the_default_namespace(
    world: World,
) -> None:
    async with world.running():
        world.record(about=ObjectReference(kind="PersistentVolume", name="pv", uid="u2"))
        await settle()
    (event,) = world.events()
    assert event.namespace == "default"
    assert event.involved_object.namespace == ""


def test_how_an_event_points_at_an_object() -> None:
    metadata = ObjectMeta(name="data", namespace="team", uid="u1", resource_version="7")
    assert reference_to(Claim(metadata=metadata)) == ObjectReference(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace="team",
        name="data",
        uid="u1",
        resource_version="7",
    )
    assert reference_to(Volume(metadata=ObjectMeta(name="pv"))).kind == "PersistentVolume"


async def test_the_same_event_again_raises_its_count(world: World) -> None:
    async with world.running():
        for _ in range(3):
            world.record()
            await world.clock.advance(60)
    (event,) = world.events()
    assert event.count == 3
    assert event.first_timestamp == "2026-01-02T03:04:05Z"
    assert event.last_timestamp == "2026-01-02T03:06:05Z"


async def test_similar_events_are_combined(world: World) -> None:
    async with world.running():
        for number in range(1, 13):
            world.record(f"m{number}")
        await world.clock.advance(1)
    assert world.counts() == {f"m{number}": 1 for number in range(1, 10)} | {
        "(combined from similar events): m12": 3
    }


async def test_spam_is_left_out_and_counted(world: World) -> None:
    async with world.running():
        for _ in range(30):
            world.record()
        await world.clock.advance(1)
    assert world.counts() == {"no room": 30}
    assert (world.recorder.counts.written, world.recorder.counts.over_budget) == (2, 5)


async def test_what_happens_often_is_written_once_a_second(world: World) -> None:
    async with world.running():
        for _ in range(20):
            world.record()
            await world.clock.advance(0.25)
        await world.clock.advance(REPEAT_SECONDS)
    assert world.counts() == {"no room": 20}
    assert world.recorder.counts.written <= 1 + 6


async def test_what_is_new_does_not_wait_for_what_is_old(world: World) -> None:
    async with world.running():
        world.record()
        await settle()
        world.record()
        world.record("on fire")
        await settle()
        assert world.counts() == {"no room": 1, "on fire": 1}


async def test_counts_of_many_events_are_written_together(world: World) -> None:
    objects = [ObjectReference(kind="Pod", name=f"p{number}", uid=f"u{number}") for number in "123"]
    async with world.running():
        for about in objects * 2:
            world.record(about=about)
            await settle()
        assert {event.count for event in world.events()} == {1}
        await world.clock.advance(REPEAT_SECONDS)
        assert {event.count for event in world.events()} == {2}


async def test_a_bug_met_by_one_count_does_not_keep_the_others(world: World) -> None:
    objects = [ObjectReference(kind="Pod", name=f"p{number}", uid=f"u{number}") for number in "123"]
    async with world.running():
        for about in objects:
            world.record(about=about)
        await settle()
        for about in objects:
            world.record(about=about)
        world.client.fail("patch", MooringError("odd"))
        await world.clock.advance(REPEAT_SECONDS)
        assert sorted(event.count for event in world.events()) == [1, 2, 2]
        world.record(about=objects[0])
        await world.clock.advance(2 * REPEAT_SECONDS)
        assert sorted(event.count for event in world.events()) == [2, 2, 3]


async def test_recording_takes_no_time_and_what_is_too_much_is_dropped(world: World) -> None:
    for number in range(MOST_WAITING + 3):
        world.record(about=ObjectReference(kind="PersistentVolume", name=f"pv{number}"))
    assert world.client.calls == []
    assert world.recorder.counts.crowded_out == 3
    async with world.running():
        while len(world.events()) < MOST_WAITING:
            await settle()
    assert world.recorder.counts.written == MOST_WAITING


async def test_events_that_happen_at_the_same_instant_have_different_names(world: World) -> None:
    async with world.running():
        world.record("a")
        world.record("b")
        await settle()
    assert sorted(event.name for event in world.events()) == [
        f"data.{NANOS:x}",
        f"data.{NANOS + 1:x}",
    ]


async def test_two_components_that_speak_at_the_same_instant_are_both_heard(world: World) -> None:
    other = world.a_recorder("protector")
    async with world.running(other):
        world.record("a")
        other.record(CLAIM, "Normal", "Protected", "b")
        await world.clock.advance(1)
    assert world.counts() == {"a": 1, "b": 1}


LONG = "x" * 250
NAMES = {
    "a name that leaves no room for the time": LONG,
    "a name that no event may have": "system:Node",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_a_name_of_its_own_for_an_event_about(world: World, name: str) -> None:
    async with world.running():
        world.record(about=ObjectReference(kind="Thing", namespace="team", name=name))
        await settle()
    (event,) = world.events()
    assert len(event.name) == 36
    assert event.involved_object.name == name


# trouble

REFUSALS: dict[str, tuple[list[MooringError], dict[str, int], float]] = {
    "while there is no connection it is tried again": (
        [ConnectionLost("lost")] * 11,
        {"no room": 1},
        120,
    ),
    "twelve times": ([ConnectionLost("lost")] * 12, {}, 120),
    "a busy server too": ([TooManyRequests("later")], {"no room": 1}, 10),
    "what is refused is dropped": ([Forbidden("no")], {}, 0),
}


@pytest.mark.parametrize(("errors", "told", "seconds"), REFUSALS.values(), ids=REFUSALS)
async def test_trouble(
    world: World, errors: list[MooringError], told: dict[str, int], seconds: float
) -> None:
    for error in errors:
        world.client.fail("create", error)
    async with world.running():
        world.record()
        await world.clock.advance(seconds)
        assert world.counts() == told
        assert world.recorder.counts.written == len(told)
        assert world.recorder.counts.refused == 1 - len(told)
        world.record("next")
        await settle()
        assert world.counts() == told | {"next": 1}


async def test_the_first_pause_varies_the_others_do_not(world: World) -> None:
    world.client.is_offline = True
    async with world.running():
        world.record()
        await world.clock.advance(9.9)
        assert len(world.client.calls) == 2
        await world.clock.advance(20)
        assert len(world.client.calls) == 4


async def test_a_creation_whose_answer_was_lost_is_not_told_twice(world: World) -> None:
    world.client.fail("create", ConnectionLost("lost"), applied=True)
    async with world.running():
        world.record()
        await world.clock.advance(20)
        assert world.counts() == {"no room": 1}
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
        assert world.counts() == {"no room": 2}
        assert len(world.events()) == 1


async def test_a_patch_whose_answer_was_lost_counts_once(world: World) -> None:
    async with world.running():
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
        world.client.fail("patch", ConnectionLost("lost"), applied=True)
        world.record()
        await world.clock.advance(20)
        assert world.counts() == {"no room": 2}
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
        assert world.counts() == {"no room": 3}


async def test_an_event_that_is_gone_is_told_anew_with_its_count(world: World) -> None:
    async with world.running():
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
        (event,) = world.events()
        world.server.delete(event)
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
        assert world.counts() == {"no room": 2}
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
        assert world.counts() == {"no room": 3}


async def test_what_was_refused_before_is_told_with_its_whole_count(world: World) -> None:
    world.client.fail("create", Forbidden("no"))
    async with world.running():
        world.record()
        await settle()
        world.record()
        await settle()
    assert world.counts() == {"no room": 2}


async def test_somebody_elses_words_in_an_event_are_no_obstacle(world: World) -> None:
    async with world.running():
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
        (event,) = world.events()
        change: dict[str, Any] = {"metadata": {"labels": {"seen": "yes"}}}
        world.server.patch(event, change, {})
        world.record()
        await world.clock.advance(REPEAT_SECONDS)
    (event,) = world.events()
    assert (event.count, event.metadata.labels) == (2, {"seen": "yes"})
