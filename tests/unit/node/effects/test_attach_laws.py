"""Laws of a node to which a controller attaches volumes: what is mounted is attached.

The node comes and goes: it is killed, leaves on purpose and comes back, its Node is made anew. Its
reports, the controller and the news of both come in any order.
"""

import asyncio
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.storage_terms import AccessMode
from mooring.node.actual import PodState
from mooring.node.desired import Desired
from mooring.node.in_use import InUse
from mooring.node.reconstruct import Reconstructed, confirm
from mooring.node.view import View
from tests.fakes.plugins import FakeCloudDisk, Outcome
from tests.unit.node.effects.world import NodeWorld, a_use

USE = a_use("pv", AccessMode.ONCE)
PODS = ("p1", "p2")
VERBS = ("mount_device", "set_up", "tear_down", "unmount_device", "wait_for_attach")
ROUNDS = 30  # more than any ending takes


class AttachWorld(NodeWorld):
    """One volume, one node, and a controller as `controllers/attachment` is."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, FakeCloudDisk)
        self.name = f"{self.plugin.name}/pv"
        self.broken: list[str] = []
        self.pods: Sequence[str] = ()
        self.is_attached = False  # by the driver: the truth
        self.is_synced = True  # the node has read its disk, and asked the API about it
        self.may_detach = False  # the controller took it off the list, and then found it unused
        self.departed: tuple[str, ...] = ()  # in use, as a Node said that was deleted
        self.in_use = InUse(self.context.desired, self.context.actual)
        self.backend.on_change = self.look

    def look(self) -> None:
        if self.backend.there and not self.is_attached:
            self.broken.append(f"{sorted(self.backend.there)} is mounted and not attached")

    def view(self, name: str) -> View:
        return replace(super().view(name), may_destroy=self.is_synced)

    # the node

    def wants(self, pods: Sequence[str]) -> None:
        self.pods = pods
        for pod in PODS:
            if pod not in pods:
                self.drop(pod)
        for pod in pods:
            self.want(pod, USE, reported_in_use=False)

    def report(self) -> None:
        """It writes its status."""
        if self.is_synced:
            self.in_use.look_at(self.name)
            self.own_node.in_use = self.in_use.names()
            self.departed = ()
            self.context.desired.report_in_use(frozenset(self.own_node.in_use))

    def hear(self) -> None:
        self.own_node.heard = dict(self.own_node.status)

    async def comes_back(self) -> None:
        """Another process, which finds a directory for every pod that had, or was to have it."""
        here = self.context.actual.find(self.name)
        traces = [("pv", pod) for pod in (() if here is None else here.pods)]
        self.context = replace(self.context, desired=Desired(lambda name: None))
        self.restart(*traces)
        self.in_use = InUse(self.context.desired, self.context.actual)
        self.is_synced = False
        self.wants(self.pods)

    async def sync(self) -> None:
        await confirm(self.context, Reconstructed(frozenset({self.name}), ()))
        self.is_synced = True

    async def leaves(self) -> None:
        """`mooring down`: nothing is mounted any more, and it says so."""
        self.backend.there.clear()
        self.own_node.in_use = ()
        await self.comes_back()

    def loses_node(self) -> None:
        """Its Node is deleted, and made anew: the controller keeps the last word in mind."""
        self.departed += self.own_node.in_use
        self.own_node.in_use, self.own_node.status = (), {}

    # the controller

    def attach(self) -> None:
        if self.pods and not self.may_detach:
            self.is_attached = True
            self.own_node.status = {self.name: ""}

    def withdraw(self) -> None:
        """A pod that comes back meanwhile does not stop what has begun."""
        if not self.pods:
            self.own_node.status = {}

    def look_at_node(self) -> None:
        known = (*self.own_node.in_use, *self.departed)
        is_listed = self.name in self.own_node.status
        self.may_detach = not is_listed and self.name not in known

    def detach(self) -> None:
        if self.may_detach:
            self.is_attached, self.may_detach = False, False
            self.look()


class Event(Enum):
    REPORT = "the node writes its status"
    HEAR = "the node hears of its status"
    SYNC = "the node has read its disk and the API"
    KILL = "the node is killed, and starts again"
    LEAVE = "the node leaves on purpose, and starts again"
    NEW_NODE = "the Node is made anew"
    ATTACH = "the controller attaches"
    WITHDRAW = "the controller takes the volume off the list"
    LOOK = "the controller looks whether it is in use"
    DETACH = "the controller detaches"
    BRING = "all that brings the volume, one after the other"
    TAKE = "all that takes it away"


class Run(msgspec.Struct, frozen=True):
    """Pods change their minds, and the node works until it is cut."""

    pods: tuple[str, ...]
    points: int  # 0: it is not cut


Move = Event | Run
ENDINGS = st.sampled_from(
    [Outcome.DONE] * 3 + [one for one in Outcome if one not in {Outcome.DONE, Outcome.HANG}]
)
RUNS = st.builds(Run, st.sampled_from([(), ("p1",), ("p2",)]), st.integers(0, 6))
OFTEN = st.sampled_from([Event.BRING, Event.TAKE, Event.TAKE, Event.SYNC])
SCRIPTS = st.fixed_dictionaries({verb: st.lists(ENDINGS, max_size=2) for verb in VERBS})


@st.composite
def stories(draw: st.DrawFn) -> list[Move]:
    """Lives, one after the other: a pod has the volume, the node is disturbed, all goes on."""
    moves: list[Move] = []
    for pods in draw(st.lists(st.sampled_from([("p1",), ("p2",)]), min_size=1, max_size=3)):
        moves += [Event.SYNC, Run(pods, 0), Event.BRING]
        moves.append(draw(st.sampled_from([Event.KILL, Event.LEAVE, Event.NEW_NODE])))
        moves += draw(st.lists(st.one_of(st.sampled_from(Event), OFTEN, RUNS), max_size=10))
    return moves


async def make(world: AttachWorld, move: Move) -> None:
    match move:
        case Run(pods, points):
            world.wants(pods)
            if points:
                world.backend.cut(points)
            await world.once()
            await world.cancel()
        case Event.KILL:
            await world.comes_back()
        case Event.LEAVE:
            await world.leaves()
        case Event.SYNC:
            await world.sync()
        case Event.BRING:
            for step in (world.report, world.attach, world.hear):
                step()
            await world.once()
        case Event.TAKE:
            for step in (world.withdraw, world.look_at_node, world.detach):
                step()
        case _:
            simple = {
                Event.REPORT: world.report,
                Event.HEAR: world.hear,
                Event.NEW_NODE: world.loses_node,
                Event.ATTACH: world.attach,
                Event.WITHDRAW: world.withdraw,
                Event.LOOK: world.look_at_node,
                Event.DETACH: world.detach,
            }
            simple[move]()


async def ends(world: AttachWorld, pods: Sequence[str]) -> None:
    """Everybody does their part, for as long as it takes."""
    await world.sync()
    world.wants(pods)
    for _ in range(ROUNDS):
        world.report()
        for step in (world.look_at_node, world.detach, world.withdraw, world.attach, world.hear):
            step()
        await world.settle()


async def check_laws(
    world: AttachWorld, script: dict[str, list[Outcome]], moves: list[Move]
) -> None:
    async with world:
        for verb, endings in script.items():
            world.backend.script(verb, *endings)
        for move in moves:
            await make(world, move)
            assert world.broken == []
        for pods in (("p1",), ()):
            await ends(world, pods)
            assert world.broken == []
            here = world.context.actual.find(world.name)
            found = {} if here is None else {uid: one.state for uid, one in here.pods.items()}
            assert found == dict.fromkeys(pods, PodState.MOUNTED)
        assert (world.backend.there, world.is_attached) == ({}, False)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laws")


@pytest.mark.poisons
@settings(deadline=None)
@given(script=st.one_of(st.just({}), SCRIPTS), moves=stories())
def test_what_is_mounted_is_attached(
    script: dict[str, list[Outcome]], moves: list[Move], root: Path
) -> None:
    asyncio.run(check_laws(AttachWorld(root), script, moves))


STORIES: dict[str, list[Move]] = {
    "it left, its volume was detached, and a pod wants it where its traces are": [
        *(Run(("p1",), 0), Event.BRING, Event.LEAVE, Run((), 1), Event.TAKE),
        Run(("p2",), 0),
    ],
    "its traces are still there when it is attached anew, and taken again": [
        *(Run(("p1",), 0), Event.BRING, Event.LEAVE, Run((), 1), Event.TAKE, Event.SYNC),
        *(Run(("p2",), 0), Event.BRING, Run((), 1), Event.REPORT, Event.TAKE),
    ],
    "its Node is made anew, and lists nothing of what it has mounted": [
        *(Run(("p1",), 0), Event.BRING, Event.KILL, Event.NEW_NODE, Run((), 0), Event.SYNC),
        *(Event.REPORT, Event.TAKE),
    ],
}


@pytest.mark.parametrize("moves", STORIES.values(), ids=STORIES)
async def test_stories_of_nodes_that_came_back(moves: list[Move], tmp_path: Path) -> None:
    await check_laws(AttachWorld(tmp_path), {}, moves)
