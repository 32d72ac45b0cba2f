"""A node killed at every step of giving a pod its volume, and of taking it away.

The next life finds what is there. The pod still wants its volume: it has it, once, as if nothing
had happened. The pod is gone: nothing of it is left, and what outlives pods is as it was.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.host.probe import Holds, probe
from tests.host.conftest import NeedsTool, clear
from tests.host.disks import MIB, Disks, read, write
from tests.host.killed_node import MARKER, Order
from tests.host.killing import Killer, killing
from tests.host.node_life import Kind, Life, Scene, left_of, picture

DISK_MIB = 8
EVERY_KIND = [pytest.param(kind, id=kind.value) for kind in Kind]


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer[Order]]:
    with killing("tests.host.killed_node") as server:
        yield Killer(server)


class Stage:
    """A disk on which nothing has happened yet, as often as it is asked for."""

    def __init__(self, place: Path, kind: Kind, source: Path) -> None:
        self.place = place
        self.kind = kind
        self._source = source
        self._count = 0

    def scene(self) -> Scene:
        self._count += 1
        root = self.place / str(self._count)
        root.mkdir()
        if self.kind is Kind.DIRECTORY:
            (root / "source").mkdir()
            return Scene(str(root), self.kind, str(root / "source"))
        if self.kind in (Kind.DEVICE, Kind.BLOCK):
            write(self._source, bytes(DISK_MIB * MIB))
            return Scene(str(root), self.kind, str(self._source))
        return Scene(str(root), self.kind)

    def has_marker(self, scene: Scene, mounts: Mounts) -> bool:
        if self.kind is Kind.DIRECTORY:
            return (Path(scene.source) / MARKER).exists()
        place = Path(scene.root) / "looked-into"
        place.mkdir()
        mounts.mount(scene.source, place, "ext4", ("ro",))
        try:
            return (place / MARKER).exists()
        finally:
            mounts.unmount(place)


@pytest.fixture
def stage(kind: Kind, place: Path, request: pytest.FixtureRequest, needs_tool: NeedsTool) -> Stage:
    source = place
    if kind in (Kind.DEVICE, Kind.BLOCK):
        if kind is Kind.DEVICE:
            needs_tool("mkfs.ext4")
        disks: Disks = request.getfixturevalue("disks")
        source = disks.empty(DISK_MIB)
    return Stage(place, kind, source)


def cuts(killer: Killer[Order], stage: Stage, *, is_leaving: bool) -> Iterator[Scene]:
    """What each life leaves that is killed one step later than the one before."""
    scene = stage.scene()
    whole = killer.live(Order(scene, is_leaving, 0))
    clear(scene.layout.root)
    assert whole.changes
    for cut in range(1, whole.changes + 1):
        scene = stage.scene()
        ended = killer.live(Order(scene, is_leaving, cut))
        assert ended.was_killed, f"{cut} of {whole.changes}"
        yield scene


def filesystem_of(scene: Scene) -> bytes:
    """The identity of the file system on the device; empty for none."""
    if scene.kind is not Kind.DEVICE or not isinstance(probe(Path(scene.source)), Holds):
        return b""
    return read(Path(scene.source), 16, at=1024 + 0x68)


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_killed_while_mounting_and_the_pod_is_still_there(
    stage: Stage, killer: Killer[Order], mounts: Mounts
) -> None:
    whole = stage.scene()
    life = Life(whole, mounts)
    async with life.running(has_pod=True):
        await life.bring()
        expected = picture(whole)
        await life.put_away()
    for scene in cuts(killer, stage, is_leaving=False):
        before = filesystem_of(scene)
        life = Life(scene, mounts)
        async with life.running(has_pod=True):
            await life.bring()
            assert picture(scene) == expected
            assert filesystem_of(scene).startswith(before)
            await life.put_away()
        assert left_of(scene) == []


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_killed_while_mounting_and_the_pod_has_gone(
    stage: Stage, killer: Killer[Order], mounts: Mounts
) -> None:
    for scene in cuts(killer, stage, is_leaving=False):
        before = filesystem_of(scene)
        life = Life(scene, mounts)
        async with life.running(has_pod=False):
            await life.cleared()
        assert filesystem_of(scene) == before


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_killed_while_unmounting_and_the_pod_is_back(
    stage: Stage, killer: Killer[Order], mounts: Mounts
) -> None:
    for scene in cuts(killer, stage, is_leaving=True):
        life = Life(scene, mounts)
        async with life.running(has_pod=True):
            files = await life.bring()
            if files is not None and scene.kind.is_kept:
                assert (files / MARKER).read_text() == "kept"
            await life.put_away()
        assert left_of(scene) == []


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_killed_while_unmounting_and_the_pod_has_gone(
    stage: Stage, killer: Killer[Order], mounts: Mounts
) -> None:
    for scene in cuts(killer, stage, is_leaving=True):
        life = Life(scene, mounts)
        async with life.running(has_pod=False):
            await life.cleared()
        if scene.kind.is_kept:
            assert stage.has_marker(scene, mounts)
