"""Why a pod has no node, told in its status and in events."""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest

from mooring.client.contract import EVERYTHING
from mooring.errors import Conflict
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.worker import work
from mooring.scheduling.reports import LONGEST_NOTE, Reason, Reports, shortened
from tests.fakes import objects
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

WEB = Key("default", "web")


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        rng = Random(1)  # noqa: S311  not for secrets
        self.pods = Reflector(self.client, Pod, EVERYTHING, self.clock, rng)
        self.recorder = Recorder(self.client, self.clock, rng, "default-scheduler")
        self.reports = Reports(self.client, self.clock, self.recorder, self.pods)
        doc = objects.a_pod()
        doc["metadata"]["namespace"] = "default"
        self.pod = self.server.create(Pod, doc)

    async def passes(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await settle(200)

    def condition(self) -> str:
        conditions = self.server.get(Pod, WEB).status.conditions
        return " ".join(f"{c.type}={c.status} {c.reason}: {c.message}" for c in conditions)

    def patches(self) -> int:
        return self.client.calls.count(f"patch Pod {WEB}")

    def events(self) -> list[tuple[str, str, str]]:
        events = self.server.list(Event).items
        return [(event.type, event.reason, event.message) for event in events]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    reports = world.reports
    async with asyncio.TaskGroup() as tasks:
        owned = [
            tasks.create_task(part)
            for part in (
                world.pods.run(),
                world.recorder.run(),
                work((world.pods,), reports.queue, reports.reconcile, 2),
            )
        ]
        await settle(200)
        yield world
        for task in owned:
            task.cancel()


async def test_a_refusal_is_told_twice(world: World) -> None:
    world.reports.refused(world.pod, Reason.UNSCHEDULABLE, "no room")
    await settle(200)
    assert world.condition() == "PodScheduled=False Unschedulable: no room"
    assert world.events() == [("Warning", "FailedScheduling", "no room")]


async def test_the_same_again_is_not_written_again(world: World) -> None:
    for _ in range(3):
        world.reports.refused(world.pod, Reason.UNSCHEDULABLE, "no room")
        await settle(200)
    assert world.patches() == 1


async def test_the_latest_counts(world: World) -> None:
    world.reports.refused(world.pod, Reason.UNSCHEDULABLE, "no room")
    world.reports.refused(world.pod, Reason.ERROR, "no luck")
    await settle(200)
    assert world.condition() == "PodScheduled=False SchedulerError: no luck"


async def test_a_lost_race_is_run_again(world: World) -> None:
    world.client.fail("patch", Conflict("somebody wrote"))
    world.reports.refused(world.pod, Reason.UNSCHEDULABLE, "no room")
    await world.passes(1)
    assert world.condition() == "PodScheduled=False Unschedulable: no room"


async def test_a_pod_that_is_gone_is_not_told(world: World) -> None:
    world.server.delete(world.pod)
    world.reports.refused(world.pod, Reason.UNSCHEDULABLE, "no room")
    await world.passes(1)
    assert world.patches() <= 1, "whether the watch was quicker or not"


async def test_a_pod_that_has_a_node_by_now_is_not_told(world: World) -> None:
    world.server.patch(world.pod, {"spec": {"nodeName": "n1"}}, {})
    await settle(200)
    world.reports.refused(world.pod, Reason.UNSCHEDULABLE, "no room")
    await settle(200)
    assert world.patches() == 0


async def test_a_pod_that_is_placed(world: World) -> None:
    world.reports.refused(world.pod, Reason.UNSCHEDULABLE, "no room")
    world.reports.placed(world.pod, "n1")
    await settle(200)
    assert world.patches() == 0, "the server itself says that it is scheduled"
    told = ("Normal", "Scheduled", "Successfully assigned default/web to n1")
    assert told in world.events()


def test_a_note_is_no_longer_than_the_api_takes() -> None:
    assert shortened("x" * LONGEST_NOTE) == "x" * LONGEST_NOTE
    long = shortened("x" * (LONGEST_NOTE + 1))
    assert (len(long), long[-5:]) == (LONGEST_NOTE, "x ...")
