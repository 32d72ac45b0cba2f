"""Protection at work, on a server that can be slow, refuse, and know more than the caches."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.client.contract import EVERYTHING, Listing
from mooring.controllers.protection.live_pods import LivePods
from mooring.controllers.protection.run import COMPONENT, ClaimProtection, build
from mooring.errors import ConnectionLost, ServerError
from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.reconcile.loops import Loops
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.shared_informer import SharedInformers
from tests.fakes.client import EyesByKind, FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.objects import a_claim, a_pod, a_volume
from tests.scenarios.neighbours import NO_OPTIONS

Doc = dict[str, Any]

ON_CLAIMS = "kubernetes.io/pvc-protection"
DATA = Key("ns", "data")


def within(namespace: str, doc: Doc, *finalizers: str) -> Doc:
    doc["metadata"] |= {"namespace": namespace, "finalizers": list(finalizers)}
    return doc


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.eyes = FakeClient(self.server, self.clock)  # the caches look through these,
        self.eyes_for_pods = FakeClient(
            self.server, self.clock
        )  # and the one of pods through these

    @asynccontextmanager
    async def protecting(self) -> AsyncIterator[None]:
        rng = Random(1)  # noqa: S311  not for secrets
        eyes = EyesByKind(self.eyes, {Pod: self.eyes_for_pods})
        informers = SharedInformers(eyes, self.clock, rng)
        loops = Loops("controllers", self.client, self.clock, rng, informers)
        build(loops, NO_OPTIONS)
        async with asyncio.TaskGroup() as tasks:
            owned = [tasks.create_task(part) for part in (informers.run(), loops.run())]
            await settle()
            yield
            for task in owned:
                task.cancel()

    def has_claim(self, name: str = "data", **spec: Any) -> Claim:
        return self.server.create(Claim, within("ns", a_claim(name, **spec), ON_CLAIMS))

    def has_pod(self, name: str = "web", claim: str = "data") -> Pod:
        return self.server.create(Pod, within("ns", a_pod(name, "n1", claim)))

    def find(self, name: str = "data") -> Claim | None:
        return self.server.find(Claim, Key("ns", name))

    def events(self) -> list[tuple[str, str, str, int]]:
        found = self.server.list(Event).items
        return [(event.type, event.reason, event.message, event.count) for event in found]


@pytest.fixture
def world() -> World:
    return World()


def waiting_for(*pods: str) -> str:
    return f"Waiting for pods that use this claim to be deleted: {', '.join(pods)}"


async def test_the_server_is_asked_before_a_claim_goes_even_if_the_cache_knows_no_user(
    world: World,
) -> None:
    """The cache of pods was filled before the pod came, and its watch has fallen silent."""
    claim = world.has_claim()
    async with world.protecting():
        world.eyes_for_pods.is_held = True
        pod = world.has_pod()
        world.server.delete(claim)
        await settle()
        assert world.find() is not None
        assert world.client.calls.count("list Pod") == 1
        assert world.events() == [("Normal", "DeletionBlocked", waiting_for("web"), 1)]
        world.server.delete(pod)
        world.eyes_for_pods.go_on()
        await settle()
        assert world.find() is None


@pytest.mark.parametrize("error", [ServerError("no"), ConnectionLost("gone")])
async def test_while_the_server_cannot_be_asked_a_claim_stays(
    world: World, error: ServerError | ConnectionLost
) -> None:
    claim = world.has_claim()
    async with world.protecting():
        world.client.fail("list", error, times=3)
        world.server.delete(claim)
        await settle()
        assert world.find() is not None
        await world.clock.advance(0.1)
        assert world.find() is None


async def test_a_conflict_is_looked_at_again(world: World) -> None:
    """A user's write arrives while the server is asked about pods."""
    claim = world.has_claim()
    async with world.protecting():
        world.client.latency = lambda: (0.01, 0.01)
        world.server.delete(claim)
        await settle()
        seen = world.server.get(Claim, DATA)
        world.server.patch(seen, {"metadata": {"labels": {"mine": "yes"}}}, {})
        await world.clock.advance(1)
        assert world.find() is None


async def test_claims_deleted_together_share_the_lists_of_pods(world: World) -> None:
    doomed = [world.has_claim(f"c{number}") for number in range(60)]
    world.has_pod("web", "c7")
    async with world.protecting():
        world.client.latency = lambda: (0.01, 0.01)
        for claim in doomed:
            world.server.delete(claim)
        await world.clock.advance(1)
        assert [claim.name for claim in world.server.list(Claim).items] == ["c7"]
        assert world.client.calls.count("list Pod") <= 3


async def test_people_are_told_once_for_each_set_of_pods(world: World) -> None:
    claim = world.has_claim()
    first, second = world.has_pod("web-1"), world.has_pod("web-0")
    async with world.protecting():
        world.server.delete(claim)
        await settle()
        both = ("Normal", "DeletionBlocked", waiting_for("web-0", "web-1"), 1)
        assert world.events() == [both]
        for pod in (first, second):  # something else about them changes
            seen = world.server.get(Pod, pod.key)
            world.server.patch(seen, {}, {"phase": "Succeeded"})
        await settle()
        assert world.events() == [both]
        world.server.delete(world.server.get(Pod, first.key))
        await settle()
        one = ("Normal", "DeletionBlocked", waiting_for("web-0"), 1)
        assert world.events() == [both, one]
        world.server.delete(world.server.get(Pod, second.key))
        await settle()
        assert world.find() is None
        assert world.events() == [both, one]


async def test_nothing_is_asked_or_written_while_nothing_waits_to_go(world: World) -> None:
    world.has_claim()
    world.server.create(
        Volume,
        a_volume() | {"metadata": {"name": "disk", "finalizers": ["kubernetes.io/pv-protection"]}},
    )
    pod = world.has_pod()
    async with world.protecting():
        world.server.patch(pod, {}, {"phase": "Running"})
        world.server.delete(world.server.get(Pod, pod.key))
        await world.clock.advance(3600)
        assert world.client.calls == []


async def test_pods_wake_nobody_but_claims_that_wait_to_go(world: World) -> None:
    rng = Random(1)  # noqa: S311  not for secrets
    claims = Reflector(world.eyes, Claim, EVERYTHING, world.clock, rng)
    pods = Reflector(world.eyes, Pod, EVERYTHING, world.clock, rng)
    recorder = Recorder(world.client, world.clock, rng, COMPONENT)
    protection = ClaimProtection(world.client, world.clock, recorder, claims, pods)
    claims.replace(Listing([world.has_claim("alive"), world.has_claim("going")], "2"))
    world.server.delete(world.server.get(Claim, Key("ns", "going")))
    claims.fold(world.server.get(Claim, Key("ns", "going")))
    assert len(protection.queue) == 1
    async with protection.queue.lease():
        pass
    pods.fold(world.has_pod("web", "alive"))
    assert len(protection.queue) == 0
    pods.fold(world.has_pod("w2", "going"))
    assert len(protection.queue) == 1


# the shared list


async def test_a_list_that_had_begun_proves_nothing(world: World) -> None:
    live = LivePods(world.client)
    world.client.latency = lambda: (0.0, 1.0)  # the answer is under way for a second
    early = asyncio.create_task(live.naming(DATA))
    await settle()
    world.has_pod()
    late = asyncio.create_task(live.naming(DATA))
    also_late = asyncio.create_task(live.naming(DATA))
    await world.clock.advance(5)
    assert await early == ()
    assert [pod.name for pod in await late] == ["web"]
    assert await also_late == await late
    assert world.client.calls == ["list Pod"] * 2


async def test_a_failed_list_is_nobodys_answer(world: World) -> None:
    world.has_pod()
    live = LivePods(world.client)
    world.client.latency = lambda: (0.0, 1.0)
    world.client.fail("list", ServerError("no"))
    first = asyncio.create_task(live.naming(DATA))
    second = asyncio.create_task(live.naming(DATA))
    await world.clock.advance(5)
    with pytest.raises(ServerError):
        await first
    assert [pod.name for pod in await second] == ["web"]


async def test_one_who_asks_and_goes_away_does_not_hold_up_the_others(world: World) -> None:
    live = LivePods(world.client)
    world.client.latency = lambda: (1.0, 0.0)
    first = asyncio.create_task(live.naming(DATA))
    second = asyncio.create_task(live.naming(DATA))
    await settle()
    first.cancel()
    await world.clock.advance(5)
    assert await second == ()
