"""Stories about one volume: what was asked, how calls ended; what was called, believed and told."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from mooring.model.volume_use import VolumeUse
from mooring.node.actual import DeviceState, PodState
from tests.fakes.plugins import Ending, FakeDisk
from tests.unit.node.effects.world import Act, MakePlugin, NodeWorld, Picture, a_use

NOT_MOUNTED = DeviceState.NOT_MOUNTED
UNSURE = DeviceState.UNCERTAIN
MOUNTED = DeviceState.MOUNTED

HAS = PodState.MOUNTED
MAYBE = PodState.UNCERTAIN

PV = a_use()
Event = tuple[str, str]


class Story(msgspec.Struct, frozen=True):
    """`left` None: nothing of the volume is on record any more."""

    acts: Sequence[Act]
    calls: Sequence[str]
    left: Picture | None
    script: Mapping[str, Sequence[Ending]] = msgspec.field(default_factory=dict)
    events: Sequence[Event] = ()
    make_plugin: MakePlugin = FakeDisk

    @property
    def end(self) -> "End":
        return End(tuple(self.calls), self.left, tuple(self.events))


class End(msgspec.Struct, frozen=True):
    calls: tuple[str, ...]
    left: Picture | None
    events: tuple[Event, ...]


async def play(story: Story, root: Path) -> End:
    async with NodeWorld(root, story.make_plugin) as world:
        for verb, endings in story.script.items():
            world.backend.script(verb, *endings)
        for act in story.acts:
            await act(world)
        return End(tuple(world.backend.calls), world.picture(), world.events())


def want(pod_uid: str = "p1", use: VolumeUse = PV) -> Act:
    """The pod wants the volume, and all that can be done now is done."""

    async def act(world: NodeWorld) -> None:
        world.want(pod_uid, use)
        await world.once()

    return act


def drop(pod_uid: str = "p1") -> Act:
    async def act(world: NodeWorld) -> None:
        world.drop(pod_uid)
        await world.once()

    return act


def swap(old: str, new: str, use: VolumeUse = PV) -> Act:
    """One pod goes and another comes, at the same moment."""

    async def act(world: NodeWorld) -> None:
        world.drop(old)
        world.want(new, use)
        await world.once()

    return act


def refresh(pod_uid: str = "p1") -> Act:
    """Something that the volume shows has changed."""

    async def act(world: NodeWorld) -> None:
        world.context.actual.remount(world.here().name, pod_uid)
        await world.once()

    return act


async def later(world: NodeWorld) -> None:
    """The first pause is over."""
    await world.clock.advance(0.5)
    await world.once()


async def at_last(world: NodeWorld) -> None:
    """Every pause is over, and nothing is left to do."""
    await world.settle()


async def restart(world: NodeWorld) -> None:
    await world.cancel()
    world.restart()
    await world.once()
