"""Making claims for pods, on a server that refuses and breaks off."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from mooring.client.contract import EVERYTHING
from mooring.controllers.ephemeral.run import COMPONENT, EphemeralVolumes
from mooring.errors import ConnectionLost, Forbidden
from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import Reflector
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.objects import a_claim, a_pod

Doc = dict[str, Any]
MADE = Key("ns", "web-a")


def with_ephemeral(*volumes: str) -> Doc:
    doc = a_pod()
    doc["metadata"]["namespace"] = "ns"
    template = {"spec": a_claim()["spec"]}
    doc["spec"]["volumes"] = [
        {"name": name, "ephemeral": {"volumeClaimTemplate": template}} for name in volumes
    ]
    return doc


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.other = FakeClient(self.server, self.clock)  # for the cache of pods and events
        self.eyes_for_claims = FakeClient(self.server, self.clock)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[EphemeralVolumes]:
        rng = Random(1)  # noqa: S311  not for secrets
        pods = Reflector(self.other, Pod, EVERYTHING, self.clock, rng)
        claims = Reflector(self.eyes_for_claims, Claim, EVERYTHING, self.clock, rng)
        recorder = Recorder(self.other, self.clock, rng, COMPONENT)
        volumes = EphemeralVolumes(self.client, self.clock, recorder, pods, claims)
        async with asyncio.TaskGroup() as tasks:
            parts = (pods.run(), claims.run(), recorder.run(), volumes.run())
            owned = [tasks.create_task(part) for part in parts]
            await settle()
            yield volumes
            for task in owned:
                task.cancel()

    def messages(self) -> list[str]:
        return [event.message for event in self.server.list(Event).items]


@pytest.fixture
def world() -> World:
    return World()


async def test_a_refusal_of_the_api_is_told_on_the_pod_counted_and_tried_again(
    world: World,
) -> None:
    world.client.fail("create", Forbidden("exceeded quota: small"), times=2)
    async with world.running() as volumes:
        world.server.create(Pod, with_ephemeral("a", "b"))
        await settle()
        assert world.messages() == ["ephemeral volume a: create PVC web-a: exceeded quota: small"]
        assert world.server.find(Claim, Key("ns", "web-b")) is None, "the first error stops"
        await world.clock.advance(1)
        assert world.server.find(Claim, MADE) is not None
        assert (volumes.counts.tried, volumes.counts.failed) == (4, 2)


async def test_a_claim_whose_answer_got_lost_is_not_made_twice(world: World) -> None:
    world.client.fail("create", ConnectionLost("gone"), applied=True)
    async with world.running():
        world.server.create(Pod, with_ephemeral("a"))
        await world.clock.advance(1)
        made = [happening.after for happening in world.server.history if not happening.before]
        assert [doc["kind"] for doc in made if doc].count("PersistentVolumeClaim") == 1
        assert world.client.calls == ["create PersistentVolumeClaim ns/web-a"]


async def test_an_own_claim_is_known_before_the_watch_brings_it(world: World) -> None:
    async with world.running() as volumes:
        world.eyes_for_claims.is_held = True
        world.server.create(Pod, with_ephemeral("a"))
        await settle()
        volumes.queue.add(Key("ns", "web"))
        await settle()
        assert len(world.client.calls) == 1


async def test_changes_of_pods_are_ignored(world: World) -> None:
    pod = world.server.create(Pod, with_ephemeral("a"))
    async with world.running() as volumes:
        adds = volumes.queue.counts.adds
        world.server.patch(pod, {}, {"phase": "Running"})
        await settle()
        assert volumes.queue.counts.adds == adds == 1


async def test_its_counts_have_the_names_that_dashboards_know(world: World) -> None:
    async with world.running() as volumes:
        world.server.create(Pod, with_ephemeral("a"))
        await settle()
        registry = CollectorRegistry()
        registry.register(volumes.counts)
        text = generate_latest(registry).decode()
    assert "\nephemeral_volume_controller_create_total 1.0\n" in text
    assert "\nephemeral_volume_controller_create_failures_total 0.0\n" in text
