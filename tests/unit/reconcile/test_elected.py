"""A role of `up` runs while this process has its lease, and says who has it otherwise."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import pytest
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.client.contract import Client
from mooring.errors import ApiError, UsageError
from mooring.model.config_map import ConfigMap
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.reconcile.elected import Build, Candidate, ElectedRole
from mooring.reconcile.leadership import NotLeading
from mooring.reconcile.loops import Loops
from mooring.reconcile.poison import POISONED
from mooring.reconcile.role import Role
from mooring.reconcile.shared_informer import SharedInformers
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

LEASE = Key("kube-system", "mooring-tester")


class Probe:
    """A role that counts how often it was made."""

    name = "tester"
    made = 0

    def __init__(self, client: Client) -> None:
        Probe.made += 1
        self.client = client
        self.is_running = False
        self.is_synced = asyncio.Event()
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        self.is_running = True
        try:
            await self.broken
        finally:
            self.is_running = False

    async def synced(self) -> None:
        await self.is_synced.wait()

    def collectors(self) -> Iterable[Collector]:
        return (_Made(),)


class _Made(Collector):
    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("made", "How often.", value=Probe.made)


class World:
    def __init__(self) -> None:
        Probe.made = 0
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.roles: list[Probe] = []

    def build(self, loops: Loops) -> Role:
        self.roles.append(Probe(loops.client))
        return self.roles[-1]

    def leading(self, identity: str = "mooring-up_1", build: Build | None = None) -> ElectedRole:
        client = FakeClient(self.server, self.clock)
        rng = Random(1)  # noqa: S311 - repeatable, not secret
        candidate = Candidate(client, self.clock, rng, identity)
        return ElectedRole("tester", candidate, build or self.build)

    def held_by(self, holder: str) -> None:
        spec: Doc = {"holderIdentity": holder, "leaseDurationSeconds": 60}
        metadata = {"namespace": LEASE.namespace, "name": LEASE.name}
        self.server.create(Lease, {"metadata": metadata, "spec": spec})


@asynccontextmanager
async def running(role: ElectedRole) -> AsyncIterator[None]:
    task = asyncio.create_task(role.run())
    await settle()
    yield
    task.cancel()
    await asyncio.wait({task})


def shown(role: ElectedRole) -> list[str]:
    return [family.name for one in role.collectors() for family in one.collect()]


async def test_it_runs_at_once_and_holds_the_lease_with_long_terms() -> None:
    world = World()
    role = world.leading()
    assert shown(role) == []
    async with running(role):
        assert world.roles[0].is_running
        spec = world.server.get(Lease, LEASE).spec
        assert (spec.holder_identity, spec.lease_duration_seconds) == ("mooring-up_1", 60)
        assert shown(role) == ["made"]
        version = world.server.revision
        await world.clock.advance(60)
        assert world.server.revision - version == 4  # one renewal in fifteen seconds
    assert not world.server.get(Lease, LEASE).is_held


async def test_what_an_earlier_life_held_is_taken_over_at_once() -> None:
    world = World()
    world.held_by("mooring-up_1")
    async with running(world.leading()):
        assert world.roles[0].is_running


async def test_it_waits_for_another_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.held_by("somebody")
    role = world.leading()
    async with running(role):
        assert not world.roles
        assert caplog.text.count("holder=somebody") == 1
        await role.synced()  # nobody waits for caches that are not there
        lease = world.server.get(Lease, LEASE)
        world.server.patch(lease, {"spec": {"holderIdentity": ""}}, {})
        await world.clock.advance(5)
        assert world.roles[0].is_running
        assert caplog.text.count("waiting for its lease") == 1


async def test_who_lost_the_lease_writes_nothing_and_is_made_anew_when_it_leads_again() -> None:
    world = World()
    async with running(world.leading()):
        first = world.roles[0]
        wanted: Doc = {"metadata": {"namespace": "ns", "name": "x"}}
        await first.client.create(ConfigMap, wanted)
        lease = world.server.get(Lease, LEASE)
        world.server.patch(lease, {"spec": {"holderIdentity": "thief"}}, {})
        await world.clock.advance(16)
        assert not first.is_running
        with pytest.raises(NotLeading):
            await first.client.create(ConfigMap, wanted)
        await world.clock.advance(70)  # the thief is never heard of again
        assert world.roles[1].is_running


async def test_it_is_synced_when_its_role_is() -> None:
    world = World()
    role = world.leading()
    async with running(role):
        waiting = asyncio.create_task(role.synced())
        await settle()
        assert not waiting.done()
        world.roles[0].is_synced.set()
        await waiting


@pytest.mark.poisons
async def test_a_role_that_dies_is_made_anew() -> None:
    world = World()
    async with running(world.leading()):
        world.roles[0].broken.set_exception(KeyError("a bug"))
        await settle()
        assert not world.server.get(Lease, LEASE).is_held
        await world.clock.advance(1)
        assert world.roles[1].is_running


async def test_a_build_that_the_cluster_refuses_is_told_and_tried_again_with_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world, began, poisoned = World(), list[float](), POISONED.total()

    def build(loops: Loops) -> Role:
        began.append(world.clock.monotonic())
        if len(began) < 5:
            raise ApiError("not yet")
        return world.build(loops)

    async with running(world.leading(build=build)):
        await world.clock.advance(30)
        assert world.roles[0].is_running
    pauses = [after - before for before, after in pairwise(began)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 2 * pauses[0]
    assert caplog.text.count('because="not yet"') == 4
    assert POISONED.total() == poisoned, "foreseen: no bug"


@pytest.mark.poisons
async def test_a_build_that_meets_a_bug_is_tried_again_with_pauses() -> None:
    world, began = World(), list[float]()

    def build(loops: Loops) -> Role:
        began.append(world.clock.monotonic())
        if len(began) < 3:
            raise KeyError("a bug")
        return world.build(loops)

    async with running(world.leading(build=build)):
        await world.clock.advance(10)
        assert world.roles[0].is_running
    assert len(began) == 3


async def test_a_build_that_only_the_user_can_mend_ends_the_process() -> None:
    world = World()

    def build(_: Loops) -> Role:
        raise UsageError("a flag is wrong")

    with pytest.raises(UsageError, match="a flag is wrong"):
        await world.leading(build=build).run()
    assert not world.server.get(Lease, LEASE).is_held


class Looking(Probe):
    """A role that knows config maps by a shared informer."""

    def __init__(self, loops: Loops) -> None:
        super().__init__(loops.client)
        self.seen: list[str] = []
        loops.informer(ConfigMap).on_change(
            lambda _, after: self.seen.append(after.name if after else "")
        )


async def test_what_another_leader_wrote_last_is_known_before_the_role_is_built() -> None:
    """The watch of the shared informers is behind, and says nothing of that."""
    world = World()
    world.held_by("somebody")
    eyes = FakeClient(world.server, world.clock)
    rng = Random(1)  # noqa: S311 - repeatable, not secret
    informers = SharedInformers(eyes, world.clock, rng)
    informers.share(ConfigMap)
    built: list[Looking] = []

    def build(loops: Loops) -> Role:
        built.append(Looking(loops))
        return built[-1]

    client = FakeClient(world.server, world.clock)
    candidate = Candidate(client, world.clock, rng, "mooring-up_1", informers)
    watching = asyncio.create_task(informers.run())
    async with running(ElectedRole("tester", candidate, build)):
        eyes.is_held = True
        world.server.create(ConfigMap, {"metadata": {"namespace": "ns", "name": "last"}})
        lease = world.server.get(Lease, LEASE)
        world.server.patch(lease, {"spec": {"holderIdentity": ""}}, {})
        await world.clock.advance(5)
        assert built[0].seen == ["last"]
    watching.cancel()
    await asyncio.wait({watching})
