"""The expand controller on a server that refuses, conflicts, and shows one watch before another."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.client.contract import EVERYTHING
from mooring.controllers.expansion.back_ends import BackEnds
from mooring.controllers.expansion.run import COMPONENT, WORKERS, Expansion
from mooring.errors import Conflict, ConnectionLost, Forbidden
from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.expansion import ResizeStatus, find_resize_status
from mooring.model.keys import Key
from mooring.model.quantity import parse
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import Expandable, VolumeError
from mooring.plugins.flex.reply import Call
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import Reflector
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.flex_driver import PlayedAttacher, PlayedDrivers
from tests.fakes.objects import a_claim, a_volume

Doc = dict[str, Any]

DATA, DISK = Key("ns", "data"), Key("", "disk")
PRE_RESIZE = "volume.alpha.kubernetes.io/pre-resize-capacity"
RESIZER = "volume.kubernetes.io/storage-resizer"
FLEX: Doc = {"csi": None, "flexVolume": {"driver": "example.com/flex"}}
GCE: Doc = {"csi": None, "gcePersistentDisk": {"pdName": "disk"}}


class World:
    def __init__(self, asks: str = "10Gi", **source: Any) -> None:
        self.clock = VirtualClock()
        self.flex: PlayedDrivers | None = None
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.eyes = FakeClient(self.server, self.clock)
        self.eyes_for_volumes = FakeClient(self.server, self.clock)
        self.in_tree: dict[str, Expandable] = {}
        self.add("data", source or FLEX, asks, "disk")

    def add(self, name: str, source: Doc, asks: str = "10Gi", volume: str = "") -> None:
        volume = volume or f"of-{name}"
        doc = a_claim(name, storage=asks, volumeName=volume)
        doc["metadata"]["namespace"] = "ns"
        doc["status"] = {"phase": "Bound", "capacity": {"storage": "5Gi"}}
        claim = self.server.create(Claim, doc)
        ref = {"namespace": "ns", "name": name, "uid": claim.uid}
        self.server.create(Volume, a_volume(volume, claimRef=ref, **source))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Expansion]:
        rng = Random(1)  # noqa: S311  not for secrets
        claims = Reflector(self.eyes, Claim, EVERYTHING, self.clock, rng)
        volumes = Reflector(self.eyes_for_volumes, Volume, EVERYTHING, self.clock, rng)
        recorder = Recorder(self.eyes, self.clock, rng, COMPONENT)
        back_ends = BackEnds(self.flex, self.in_tree)
        expanding = Expansion(self.client, self.clock, recorder, claims, volumes, back_ends)
        async with asyncio.TaskGroup() as tasks:
            parts = (claims.run(), volumes.run(), recorder.run(), expanding.run())
            owned = [tasks.create_task(part) for part in parts]
            await settle()
            yield expanding
            for task in owned:
                task.cancel()

    @property
    def at(self) -> ResizeStatus | None:
        return find_resize_status(self.server.get(Claim, DATA).status)

    def events(self) -> list[tuple[str, str, str]]:
        found = self.server.list(Event).items
        return [(event.type, event.reason, event.message) for event in found]


REFUSALS: dict[str, tuple[int, str]] = {
    "the start": (0, "error updating pvc ns/data with resize in progress: no"),
    "the volume": (1, "error updating pv for pvc ns/data: no"),
    "the hand over to the node": (2, "error marking pvc ns/data for node expansion: no"),
}


@pytest.mark.parametrize(("passed", "message"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refused_write_is_told_and_tried_again(passed: int, message: str) -> None:
    world = World()
    for _ in range(passed):
        world.client.fail("patch", ConnectionLost("the answer got lost"), applied=True)
    world.client.fail("patch", Forbidden("no"))
    async with world.running():
        await world.clock.advance(5)
        assert world.events() == [("Warning", "VolumeResizeFailed", message)]
        assert world.at is ResizeStatus.NODE_PENDING


async def test_a_refused_end_of_a_block_device_is_told_and_tried_again() -> None:
    world = World(**FLEX, volumeMode="Block")
    for _ in range(2):
        world.client.fail("patch", ConnectionLost("the answer got lost"), applied=True)
    world.client.fail("patch", Forbidden("no"))
    async with world.running():
        await world.clock.advance(5)
        assert [event[1:] for event in world.events()] == [
            ("VolumeResizeFailed", "error marking pvc ns/data as resized: no"),
            ("VolumeResizeSuccessful", "ExpandVolume succeeded for volume ns/data"),
        ]
        assert str(world.server.get(Claim, DATA).capacity) == "10Gi"


async def test_a_refused_annotation_is_told_and_tried_again() -> None:
    world = World(**GCE)
    world.client.fail("patch", Forbidden("no"))
    async with world.running():
        await settle()
        assert world.events()[1:] == [
            (
                "Warning",
                "ExternalExpanding",
                "error setting resizer annotation to pvc ns/data, with error no",
            )
        ]
        await world.clock.advance(1)
        assert world.client.calls == ["patch PersistentVolumeClaim ns/data"] * 2
        named = world.server.get(Claim, DATA).metadata.annotations
        assert named == {RESIZER: "pd.csi.storage.gke.io"}


async def test_a_conflict_is_no_news_for_people() -> None:
    world = World()
    world.client.fail("patch", Conflict("somebody wrote"), times=3)
    async with world.running():
        await world.clock.advance(5)
        assert world.events() == []
        assert world.at is ResizeStatus.NODE_PENDING


async def test_a_volume_seen_after_its_claim_is_still_finished() -> None:
    """The claim shows the size reached on a node before the volume shows what it remembers."""
    world = World()
    async with world.running():
        await settle()
    async with world.running():
        world.eyes_for_volumes.is_held = True
        claim = world.server.get(Claim, DATA)
        done = {
            "capacity": {"storage": "10Gi"},
            "allocatedResourceStatuses": None,
            "conditions": None,
        }
        world.server.patch(claim, {}, done)
        await settle()
        volume = world.server.get(Volume, DISK)
        world.server.patch(volume, {"metadata": {"annotations": {PRE_RESIZE: "4Gi"}}}, {})
        world.eyes_for_volumes.go_on()
        await world.clock.advance(1)
        assert PRE_RESIZE not in world.server.get(Volume, DISK).metadata.annotations


async def test_a_claim_whose_volume_comes_later_is_looked_at_again() -> None:
    world = World()
    volume = world.server.get(Volume, DISK)
    world.server.delete(volume)
    async with world.running():
        await world.clock.advance(1)
        assert world.client.calls == []
        ref = {"namespace": "ns", "name": "data", "uid": world.server.get(Claim, DATA).uid}
        world.server.create(Volume, a_volume(claimRef=ref, **FLEX))
        await world.clock.advance(5)
        assert world.at is ResizeStatus.NODE_PENDING


async def test_nothing_is_written_for_claims_that_have_what_they_ask_for() -> None:
    world = World("5Gi")
    async with world.running() as expanding:
        claim = world.server.get(Claim, DATA)
        world.server.patch(claim, {"metadata": {"labels": {"a": "b"}}}, {})
        await settle()
        assert world.client.calls == []
        assert expanding.queue.counts.adds == 1


async def test_own_writes_are_known_before_the_watches_bring_them() -> None:
    world = World("5Gi")
    async with world.running() as expanding:
        claim = world.server.get(Claim, DATA)
        more = {"resources": {"requests": {"storage": "10Gi"}}}
        world.server.patch(claim, {"spec": more}, {})
        await settle(2)  # enough for the news of it
        while not world.client.calls:
            await settle(1)
        world.eyes.is_held = world.eyes_for_volumes.is_held = True
        await settle()
        assert len(world.client.calls) == 3
        expanding.queue.add(DATA)
        await world.clock.advance(5)
        assert len(world.client.calls) == 3
        assert world.at is ResizeStatus.NODE_PENDING


async def test_what_a_resizer_writes_on_a_volume_is_none_of_our_business() -> None:
    world = World(csi={"driver": "d.example.com", "volumeHandle": "h"})
    async with world.running() as expanding:
        volume = world.server.get(Volume, DISK)
        grown = {"capacity": {"storage": "10Gi"}}
        annotated = {"metadata": {"annotations": {PRE_RESIZE: "5Gi"}}, "spec": grown}
        world.server.patch(volume, annotated, {})
        await settle()
        assert expanding.queue.counts.adds == 1
        assert len(world.events()) == 1


async def test_a_flex_volume_grows_by_its_driver_if_that_is_here() -> None:
    driver, gibi = PlayedAttacher(), 1 << 30
    world = World(csi=None, flexVolume={"driver": driver.name})
    world.flex = PlayedDrivers(world.clock, driver)
    async with world.running():
        assert driver.deeds == [f"expand {5 * gibi} {10 * gibi}"]
        assert world.at is ResizeStatus.NODE_PENDING


async def test_a_driver_that_refuses_to_grow_is_told_of_and_asked_again() -> None:
    driver = PlayedAttacher()
    driver.errors[Call.EXPAND_VOLUME] = VolumeError("the pool is full")
    world = World(csi=None, flexVolume={"driver": driver.name})
    world.flex = PlayedDrivers(world.clock, driver)
    async with world.running():
        words = 'error expanding volume "ns/data" : the pool is full'
        assert ("Warning", "VolumeResizeFailed", words) in world.events()
        assert world.server.get(Volume, DISK).size == parse("5Gi")
        driver.errors.clear()
        await world.clock.advance(60)
        await settle()
        assert world.server.get(Volume, DISK).size == parse("10Gi")


class Hanging:
    """A back end that does not answer."""

    async def grow(self, use: VolumeUse, new_bytes: int, old_bytes: int) -> int:
        await asyncio.Event().wait()
        return new_bytes

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return True


async def test_a_back_end_that_hangs_keeps_no_others_from_their_resizers() -> None:
    world = World()
    world.in_tree = {Plugin.RBD: Hanging()}
    async with world.running():
        for number in range(2 * WORKERS):
            image = {"monitors": ["10.0.0.1:6789"], "pool": "rbd", "image": "i"}
            world.add(f"data-{number}", {"csi": None, "rbd": image})
        await settle()
        world.add("last", GCE)
        await settle()
        named = world.server.get(Claim, Key("ns", "last")).metadata.annotations
        assert named == {RESIZER: "pd.csi.storage.gke.io"}
