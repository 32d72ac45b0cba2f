"""A role is what was added to its loops: run together, ended together, and gone without a trace."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from mooring.client.contract import Scope
from mooring.errors import ConnectionLost, UsageError
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.volume import Volume
from mooring.reconcile.elected import Candidate, ElectedRole
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import reference_to
from mooring.reconcile.shared_informer import Selection, SharedInformer, SharedInformers
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.lagging import reflector_of
from tests.unit.reconcile.reflector_world import a_volume

GOLD: Selection[Volume] = Selection(
    Scope(labels="colour=gold"), lambda volume: volume.metadata.labels.get("colour") == "gold"
)


def class_of(volume: Volume) -> tuple[str, ...]:
    return (volume.spec.storage_class_name,)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.rng = Random(1)  # noqa: S311 - repeatable, not secret
        self.informers = SharedInformers(self.client, self.clock, self.rng)
        self.told: list[str] = []

    def loops(self, informers: SharedInformers | None = None) -> Loops:
        return Loops("tester", self.client, self.clock, self.rng, informers)

    def build(self, loops: Loops) -> Loops:
        """A role that looks at volumes."""
        volumes = loops.informer(Volume)
        volumes.add_index("class", class_of)
        volumes.on_change(self._hear)
        return loops

    def _hear(self, old: Volume | None, new: Volume | None) -> None:
        self.told.append((new or old or Volume()).name)

    def create(self, name: str, **labels: str) -> Volume:
        return self.server.create(Volume, a_volume(name, **labels))

    def is_untouched(self) -> bool:
        """Whether no role has left anything on what is shared."""
        share = self.informers.share(Volume)
        assert isinstance(share, SharedInformer)
        reflector = reflector_of(share)
        return not reflector._listeners and not reflector._indexes


@asynccontextmanager
async def running(*roles: Loops | SharedInformers | ElectedRole) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(role.run()) for role in roles]
    await settle()
    yield
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.fixture
def world() -> World:
    return World()


async def test_a_role_without_shared_informers_runs_its_own(world: World) -> None:
    world.create("disk")
    loops = world.build(world.loops())
    async with running(loops):
        await loops.synced()
        assert world.told == ["disk"]
        world.create("other")
        await settle()
        assert world.told == ["disk", "other"]
    assert world.server.streams == []


async def test_alone_the_server_selects_and_sends_nothing_else(world: World) -> None:
    world.create("disk", colour="gold")
    world.create("other")
    loops = world.loops()
    gold = loops.informer(Volume, GOLD)
    async with running(loops):
        assert reflector_of(gold)._scope == GOLD.scope
        assert [volume.name for volume in gold.all()] == ["disk"]


async def test_two_roles_share_what_they_look_at(world: World) -> None:
    world.create("disk")
    first, second = (world.build(world.loops(world.informers)) for _ in range(2))
    async with running(world.informers, first, second):
        assert world.told == ["disk", "disk"]
        assert world.client.calls == ["list PersistentVolume", "watch PersistentVolume"]


async def test_a_role_that_ends_leaves_nothing_on_what_is_shared(world: World) -> None:
    world.create("disk")
    async with running(world.informers):
        async with running(world.build(world.loops(world.informers))):
            assert world.told == ["disk"]
        assert world.is_untouched()
        world.create("other")
        await settle()
        assert world.told == ["disk"]
        async with running(world.build(world.loops(world.informers))):
            assert world.told == ["disk", "disk", "other"], "the next one is told of all"


async def test_a_role_that_was_built_and_never_run_can_be_closed(world: World) -> None:
    loops = world.build(world.loops(world.informers))
    assert not world.is_untouched()
    loops.close()
    assert world.is_untouched()


@pytest.mark.poisons
async def test_a_role_rebuilt_after_a_failed_build_leaves_no_handler_behind(world: World) -> None:
    built: list[Loops] = []

    def build(loops: Loops) -> Loops:
        built.append(world.build(loops))
        if len(built) == 1:
            raise ConnectionLost("not yet")
        return loops

    candidate = Candidate(world.client, world.clock, world.rng, "us", world.informers)
    role = ElectedRole("tester", candidate, build)
    async with running(world.informers, role):
        await world.clock.advance(20)
        assert len(built) == 2
        world.create("disk")
        await settle()
        assert world.told == ["disk"], "by one handler"
        assert world.server.find(Lease, Key("kube-system", "mooring-tester")) is not None
    assert world.is_untouched()


async def test_if_one_part_dies_all_stop(world: World) -> None:
    loops = world.build(world.loops(world.informers))
    gate, ended = asyncio.Event(), asyncio.Event()

    async def breaks() -> None:
        await gate.wait()
        raise UsageError("no remedy here")

    async def works() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    loops.add(breaks)
    loops.add(works)
    task = asyncio.create_task(loops.run())
    await settle()
    gate.set()
    with pytest.raises(ExceptionGroup) as failure:
        await task
    assert failure.group_contains(UsageError)
    assert ended.is_set()
    assert world.is_untouched()


async def test_it_is_synced_when_all_its_informers_are(world: World) -> None:
    loops = world.build(world.loops())
    world.client.stall()
    async with running(loops):
        synced = asyncio.create_task(loops.synced())
        await settle()
        assert not synced.done()
        world.client.go_on()
        await settle()
        assert synced.done()


async def test_events_are_recorded_while_it_runs(world: World) -> None:
    loops = world.loops()
    recorder = loops.recorder("tester", "here")
    recorder.record(reference_to(world.create("disk")), "Normal", "Made", "It is there.")
    async with running(loops):
        (event,) = world.server.list(Event).items
        assert (event.source.component, event.source.host) == ("tester", "here")


async def _forever() -> None:
    await asyncio.Event().wait()


class _Counted(Collector):
    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily("things", "Things.")
        family.add_metric([], 7)
        yield family


async def test_it_shows_what_its_parts_count(world: World) -> None:
    loops = world.build(world.loops())
    queue: KeyedQueue[Key] = KeyedQueue(world.clock)
    queue.add(Key("", "disk"))
    loops.recorder("tester")
    loops.add(_forever, {"volumes": queue})
    loops.count(_Counted())
    registry = CollectorRegistry()
    for collector in loops.collectors():
        registry.register(collector)

    def count(family: str, **labels: str) -> float | None:
        return registry.get_sample_value(family, labels)

    async with running(loops):
        assert count("workqueue_adds_total", name="volumes") == 1
        assert count("things_total") == 7
        assert count("mooring_informer_lists_total", resource="persistentvolumes") == 1
        assert count("mooring_recorder_events_total", component="tester", outcome="written") == 0
