"""The steps that any plan may hold."""

import asyncio
from random import Random

import pytest

from mooring.model.claim import Claim
from mooring.model.event import Event, EventType
from mooring.model.reference import ObjectReference
from mooring.model.steps import Emit, Fail
from mooring.reconcile.apply import NotNow, apply
from mooring.reconcile.recorder import Recorder
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

CLOCK = VirtualClock()


def a_recorder(server: FakeServer) -> Recorder:
    rng = Random(1)  # noqa: S311 - repeatable, not secret
    return Recorder(FakeClient(server, CLOCK), CLOCK, rng, "binder")


async def test_telling_becomes_an_event_about_the_object() -> None:
    server = FakeServer(CLOCK)
    claim = server.create(Claim, {"metadata": {"name": "data", "namespace": "ns"}})
    recorder = a_recorder(server)
    apply(Emit(claim, EventType.WARNING, "FailedBinding", "no room"), recorder)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(recorder.run())
        await settle()
        running.cancel()
    (event,) = server.list(Event).items
    assert (event.type, event.reason, event.message) == ("Warning", "FailedBinding", "no room")
    assert event.involved_object == ObjectReference.to(claim)


async def test_a_plan_that_cannot_go_on_says_why() -> None:
    with pytest.raises(NotNow, match="the volume is taken"):
        apply(Fail("the volume is taken"), a_recorder(FakeServer(CLOCK)))
