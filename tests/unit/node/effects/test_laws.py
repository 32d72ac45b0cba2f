"""Laws of a node: safe at every moment, and finished from wherever it was cut.

Pods come and go, calls end in every way, operations are cancelled and the node is killed at any
point before or after something happens outside.
"""

import asyncio
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.node.actual import Attachability, DeviceState, PodState
from tests.fakes.plugins import FakeCloudDisk, FakeDisk, Outcome
from tests.unit.node.effects.world import NodeWorld, a_use

USES = {
    "pv": a_use("pv", AccessMode.ONCE),
    "solo": a_use("solo", AccessMode.ONCE_POD),
    "block": a_use("block", AccessMode.ONCE, mode=VolumeMode.BLOCK),
}
PODS = ("p1", "p2")
VERBS = {
    "files": ("mount_device", "set_up", "tear_down", "unmount_device"),
    "block": ("set_up_device", "map_pod_device", "unmap_pod_device", "tear_down_device"),
    "attachment": ("attach", "wait_for_attach", "detach"),
}


class End(Enum):
    """How a run of the node ends."""

    REST = "nothing can be done now"
    CANCELLED = "its operations are cancelled, and it goes on"
    KILLED = "it starts over, with what is on disk"


class Move(msgspec.Struct, frozen=True):
    """Pods change their minds, time passes, and the node runs."""

    pods: tuple[str, ...]  # that want the volume from now on
    seconds: float
    end: End
    points: int  # until it is cut


class Story(msgspec.Struct, frozen=True):
    volume: str
    script: dict[str, list[Outcome]]
    moves: list[Move]


ENDINGS = st.sampled_from(
    [Outcome.DONE] * 5 + [one for one in Outcome if one not in {Outcome.DONE, Outcome.HANG}]
)


@st.composite
def stories(draw: st.DrawFn, ends: tuple[End, ...] = tuple(End)) -> Story:
    volume = draw(st.sampled_from(sorted(USES)))
    verbs = (*VERBS["block" if volume == "block" else "files"], *VERBS["attachment"])
    script = {verb: draw(st.lists(ENDINGS, max_size=6)) for verb in verbs}
    move = st.builds(
        Move,
        st.sampled_from([(), ("p1",), ("p2",), ("p2", "p1")]),
        st.sampled_from([0.0, 0.5, 8.0]),
        st.sampled_from(ends),
        st.integers(0, 8),
    )
    return Story(volume, script, draw(st.lists(move, min_size=1, max_size=8)))


class Laws:
    """Looks at the world whenever it, or what is believed of it, has changed.

    What it finds is kept: an error raised inside an operation would only make it fail.
    """

    def __init__(self, world: NodeWorld) -> None:
        self.broken: list[str] = []
        self._world = world
        world.check = world.backend.on_change = self.look

    def look(self) -> None:
        self.broken += self._unsafe()
        self.broken += self._forgotten()
        self.broken += self._untrue()

    def _unsafe(self) -> Iterator[str]:
        there = self._world.backend.there
        if sum(thing[:2] == ("files", "solo") for thing in there) > 1:
            yield "a volume for one pod is mounted for two"
        for kind, volume, *_ in there:
            if kind == "files" and ("device", volume) not in there:
                yield "a device went while a pod had it"
            if self._world.context.attaches_itself and ("attachment", volume) not in there:
                yield "a volume was detached while it was mounted"

    def _forgotten(self) -> Iterator[str]:
        """Nothing is believed to be less than it is."""
        for kind, volume, *pods in self._world.backend.there:
            here = self._world.context.actual.find(f"{self._world.plugin.name}/{volume}")
            if here is None:
                yield f"{kind} of a volume that nobody knows"
            elif kind == "attachment" and here.attachability is Attachability.NO:
                yield "an attachment that nobody knows"
            elif kind == "device" and here.device is DeviceState.NOT_MOUNTED:
                yield "a device that nobody knows"
            elif any(pod not in here.pods for pod in pods):
                yield "a pod's mount that nobody knows"

    def _untrue(self) -> Iterator[str]:
        """What is believed for certain is so."""
        there = self._world.backend.there
        for here in self._world.context.actual.volumes():
            if here.device is DeviceState.MOUNTED and ("device", here.use.name) not in there:
                yield "a device is not there"
            for uid, mount in here.pods.items():
                is_there = ("files", here.use.name, uid) in there
                if mount.state is PodState.MOUNTED and not is_there:
                    yield "a pod does not have its volume"


def want(world: NodeWorld, volume: str, pods: Sequence[str]) -> None:
    for pod in PODS:
        if pod not in pods:
            world.drop(pod)
    for pod in pods:
        world.want(pod, USES[volume])


async def make(world: NodeWorld, volume: str, move: Move) -> None:
    want(world, volume, move.pods)
    await world.clock.advance(move.seconds)
    if move.end is not End.REST:
        world.backend.cut(move.points)
    await world.once()
    await world.cancel()
    if move.end is End.KILLED:
        world.restart()


def expected(world: NodeWorld, volume: str, pods: Sequence[str]) -> set[tuple[str, ...]]:
    if not pods:
        return set()
    there = {("device", volume), *(("files", volume, pod) for pod in pods)}
    return there | ({("attachment", volume)} if world.context.attaches_itself else set())


async def check_laws(world: NodeWorld, story: Story) -> None:
    laws = Laws(world)
    async with world:
        for verb, ends in story.script.items():
            world.backend.script(verb, *ends)
        for move in story.moves:
            await make(world, story.volume, move)
        assert laws.broken == []
        last = story.moves[-1].pods[:1]  # of two, for what is for one pod
        for pods in (last, ()):
            want(world, story.volume, pods)
            await world.settle()
            assert laws.broken == []
            assert set(world.backend.there) == expected(world, story.volume, pods)
            mounts = {} if not pods else world.here().pods
            assert {uid: mount.state for uid, mount in mounts.items()} == dict.fromkeys(
                pods, PodState.MOUNTED
            )
        assert list(world.context.actual.volumes()) == []
        assert (world.mounts.mounted(), world.locks.held) == ((), set())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laws")


@pytest.mark.poisons
@settings(deadline=None)
@given(story=stories())
def test_a_node_with_a_controller(story: Story, root: Path) -> None:
    async def run() -> None:
        await check_laws(NodeWorld(root, FakeDisk), story)

    asyncio.run(run())


@pytest.mark.poisons
@settings(deadline=None)
@given(story=stories((End.REST, End.CANCELLED)))
def test_a_node_that_attaches_itself(story: Story, root: Path) -> None:
    """It is not killed: nothing on disk tells of an attachment."""

    async def run() -> None:
        world = NodeWorld(root, FakeCloudDisk)
        world.context = replace(world.context, attaches_itself=True)
        await check_laws(world, story)

    asyncio.run(run())


@pytest.mark.parametrize("points", range(18))
@pytest.mark.parametrize("end", [End.CANCELLED, End.KILLED])
@pytest.mark.parametrize("volume", sorted(USES))
async def test_a_life_cut_at_every_point(
    points: int, end: End, volume: str, tmp_path: Path
) -> None:
    """Two pods come, one after the other, and go; the cut is anywhere between."""
    world = NodeWorld(tmp_path)
    laws = Laws(world)
    async with world:
        world.backend.cut(points)
        for pods in (("p1",), (), ("p2",), ()):
            want(world, volume, pods)
            await world.once()
            if world.backend.cut_reached.is_set():
                await world.cancel()
                if end is End.KILLED:
                    world.restart()
            await world.once()
            assert set(world.backend.there) == expected(world, volume, pods)
        assert laws.broken == []
        assert list(world.context.actual.volumes()) == []
        assert (world.mounts.mounted(), world.locks.held) == ((), set())
