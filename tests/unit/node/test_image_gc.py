"""Unused images go when there are too many of them; those in use, imported or young stay."""

import asyncio
from pathlib import Path

import pytest

from mooring.node.image_gc import PERIOD_SECONDS, ImageGc, TrackedImages
from mooring.oci import index as index_file
from mooring.oci.contract import ImageConfig
from mooring.oci.index import Image, Index, StoredLayer
from mooring.oci.registry.settings import GcSettings
from mooring.oci.store import ImageStore
from tests.fakes.clock import VirtualClock
from tests.fakes.inline_threads import install_inline_threads

OLD, NEW, OWN = ("quay.io/old:1", "quay.io/new:1", "quay.io/own:1")
FEW = GcSettings(high_percent=101, low_percent=99, minimum_age=120.0, most_bytes=15)


class World:
    def __init__(self, root: Path, settings: GcSettings = FEW) -> None:
        self.root = root
        self.clock = VirtualClock()
        self.store = ImageStore(root)
        self.images = TrackedImages(self.store, self.clock)
        self.warned: list[str] = []
        self.gc = ImageGc(self.store, self.images, root, settings, self.clock, self.warn)
        self.write()

    def warn(self, reason: str, message: str) -> None:
        self.warned.append(f"{reason}: {message}")

    def write(self) -> None:
        """Three images of one layer each; the last was imported."""
        layers = {digit * 64: StoredLayer(10) for digit in "abc"}
        for layer in layers:
            (self.root / "layers" / layer).mkdir(parents=True)
        ids = [f"sha256:{digit * 64}" for digit in "123"]
        pairs = zip(ids, layers, strict=True)
        index = Index(
            layers=layers,
            images={one: Image((layer,), ImageConfig()) for one, layer in pairs},
            names=dict(zip((OLD, NEW, OWN), ids, strict=True)),
            pulled=(OLD, NEW),
        )
        index_file.write(self.root / "images.json", index, self.root / "draft")

    def names(self) -> list[str]:
        return [name for image in self.store.list() for name in image.names]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_the_one_unused_longest_goes_with_its_layer(world: World) -> None:
    await world.gc.collect()
    assert world.names() == [NEW, OLD, OWN]  # they are as young as the node
    await world.clock.advance(60)
    world.images.find(NEW)
    await world.clock.advance(60)
    await world.gc.collect()
    assert world.names() == [NEW, OWN]
    assert sorted(path.name[0] for path in (world.root / "layers").iterdir()) == ["b", "c"]


async def test_nothing_goes_while_there_is_room(tmp_path: Path) -> None:
    world = World(tmp_path, GcSettings(high_percent=101, most_bytes=20, minimum_age=0.0))
    await world.gc.collect()
    assert world.names() == [NEW, OLD, OWN]
    assert world.warned == []


async def test_what_cannot_be_freed_is_told(world: World) -> None:
    await world.gc.collect()
    assert world.warned == [
        "FreeDiskSpaceFailed: Failed to garbage collect required amount of images. Attempted to "
        "free 5 bytes, but only found 0 bytes eligible to free."
    ]


async def test_an_image_in_use_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    used = frozenset([f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"])
    monkeypatch.setattr("mooring.oci.store.images_in_use", lambda *_: used)
    await world.gc.collect()
    await world.clock.advance(500)
    await world.gc.collect()
    assert world.names() == [NEW, OLD, OWN]


async def test_one_that_came_into_use_meanwhile_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [image.id for image in world.store.list()]
    monkeypatch.setattr("mooring.oci.store.images_in_use", lambda *_: frozenset(ids[:1]))
    gone = world.store.remove_unused(ids)
    assert [image.names for image in gone] == [(OLD,)]  # the other is imported
    assert world.names() == [NEW, OWN]


async def test_it_looks_every_few_minutes_and_after_a_pull(world: World) -> None:
    install_inline_threads()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(world.gc.run())
        await world.clock.advance(0)
        await world.clock.advance(150)
        assert world.names() == [NEW, OLD, OWN]
        world.gc.wake()
        await world.clock.advance(0)
        assert len(world.names()) == 2
        await world.clock.advance(PERIOD_SECONDS)
        running.cancel()
