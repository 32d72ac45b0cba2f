"""Whatever pods, nodes, attachers and deaths do, in whatever order:

no exclusive volume is on two nodes at a time; nothing is taken from a ready node that has it
mounted, nor before the wait is over from a machine that runs on when its Node is deleted; and when
everybody has come to rest, volumes are where pods want them and nowhere else.

The nodes keep their half of the bargain: a node says that it uses a volume, then looks whether the
volume is in its list, and only then mounts it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.client.contract import EVERYTHING
from mooring.controllers.attachment.caches import Informers
from mooring.controllers.attachment.run import COMPONENT, AttachDetach
from mooring.controllers.attachment.view import MAX_WAIT_SECONDS
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.node import LEFT, LEFT_VALUE, Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.wellknown import TaintKey
from mooring.plugins.csi.attachment_name import CsiName
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import Reflector
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.scenarios.neighbours import FOREVER, Mortal

Doc = dict[str, Any]

DRIVER, FINALIZER = "d.example.com", "external-attacher/d"
MANAGED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
NODES, PODS = ("n1", "n2"), ("p1", "p2", "p3")
VOLUMES = {"one": ["ReadWriteOnce"], "two": ["ReadWriteMany"]}
TURNS = 60
DISTURBANCES = (
    "a node fails or recovers",
    "a node is deleted or comes back",
    "a node leaves or comes back",
)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.there: set[tuple[str, str]] = set()  # volume and node: what is really attached
        self.mounted: set[tuple[str, str]] = set()
        self.fails = False  # the driver
        self.deleted: dict[str, float] = {}  # nodes, and when
        self.judged = 0  # so much of the server's history
        self.asleep: set[str] = set()  # nodes and the driver, while they do nothing
        self.eyes_on_nodes = FakeClient(self.server, self.clock)  # may be behind all others
        for name in NODES:
            self.registers(name)
        for name, modes in VOLUMES.items():
            self._bound(name, modes)

    def registers(self, name: str) -> None:
        """A machine says that it is there, and what it has mounted."""
        in_use = [CsiName(DRIVER, v).unique for v, node in self.mounted if node == name]
        status = {"conditions": [{"type": "Ready", "status": "True"}], "volumesInUse": in_use}
        doc = {"metadata": {"name": name, "annotations": MANAGED}, "status": status}
        self.server.create(Node, doc)

    def _bound(self, name: str, modes: list[str]) -> None:
        claim = self.server.create(
            Claim,
            {
                "metadata": {"name": name, "namespace": "ns"},
                "spec": {"volumeName": name},
                "status": {"phase": "Bound"},
            },
        )
        self.server.create(
            Volume,
            {
                "metadata": {"name": name},
                "spec": {
                    "accessModes": modes,
                    "csi": {"driver": DRIVER, "volumeHandle": name},
                    "claimRef": {"namespace": "ns", "name": name, "uid": claim.uid},
                },
            },
        )

    @asynccontextmanager
    async def controller(self, writes: int) -> AsyncIterator[None]:
        rng = Random(1)  # noqa: S311  not for secrets
        client = Mortal(FakeClient(self.server, self.clock), writes)

        def informer(kind: Any) -> Any:
            eyes = self.eyes_on_nodes if kind is Node else client
            return Reflector(eyes, kind, EVERYTHING, self.clock, rng)

        known = Informers(*map(informer, (Pod, Node, Claim, Volume, CsiDriver, Attachment)))
        recorder = Recorder(client, self.clock, rng, COMPONENT)  # silent: its writes count too
        working = AttachDetach(client, self.clock, recorder, known)
        parts = [getattr(known, name).run() for name in known.__struct_fields__]
        async with asyncio.TaskGroup() as tasks:
            owned = [tasks.create_task(part) for part in (*parts, working.run())]
            await settle(TURNS)
            yield
            for task in owned:
                task.cancel()

    # what happens

    async def act(self, what: str, number: int) -> None:
        pod, node = PODS[number % len(PODS)], NODES[number % len(NODES)]
        volume = list(VOLUMES)[number // 2 % len(VOLUMES)]
        match what:
            case "a pod comes":
                self.pod(pod, node, volume)
            case "a pod goes":
                if (found := self.server.find(Pod, Key("ns", pod))) is not None:
                    self.server.delete(found)
            case "a node sleeps or wakes":
                self.asleep ^= {node}
            case str(said) if said in DISTURBANCES:
                self.disturb(said, node)
            case "nodes are seen late or again":
                self.eyes_on_nodes.is_held = not self.eyes_on_nodes.is_held
                if not self.eyes_on_nodes.is_held:
                    self.eyes_on_nodes.go_on()
            case "the driver sleeps or wakes":
                self.asleep ^= {DRIVER}
            case "the driver fails or recovers":
                self.fails = not self.fails
            case "time passes":
                await self.clock.advance([0.2, 2.0, 130.0, 400.0][number % 4])
            case _:
                raise AssertionError(what)
        await self.round()

    def disturb(self, what: str, name: str) -> None:
        node = self.server.find(Node, Key("", name))
        match what:
            case "a node is deleted or comes back" if node is None:
                self.registers(name)
            case "a node is deleted or comes back" if node is not None:
                self.deleted[name] = self.clock.monotonic()
                self.server.delete(node)
            case "a node fails or recovers" if node is not None:
                status = "False" if node.is_ready else "True"
                change = {"conditions": [{"type": "Ready", "status": status}]}
                self.server.patch(node, {}, change)
            case "a node leaves or comes back" if node is not None:
                self.leaves_or_returns(node)
            case _:
                pass  # there is no such node

    def leaves_or_returns(self, node: Node) -> None:
        """It says goodbye with nothing mounted, and takes it back; the taint stays for a while."""
        if node.has_left:
            self.server.patch(node, {}, {"conditions": [{"type": "Ready", "status": "True"}]})
            return
        self.mounted = {(volume, on) for volume, on in self.mounted if on != node.name}
        taint = {"key": TaintKey.OUT_OF_SERVICE, "value": LEFT_VALUE, "effect": "NoExecute"}
        gone = [{"type": "Ready", "status": "False", "reason": LEFT}]
        status = {"conditions": gone, "volumesInUse": None}
        self.server.patch(node, {"spec": {"taints": [taint]}}, status)

    async def round(self) -> None:
        """Whoever is awake works: the driver, what the controller makes of it, the nodes."""
        await self.settle()
        if DRIVER not in self.asleep:
            self.driver_works()
        await self.settle()
        for name in NODES:
            if name not in self.asleep:
                self.node_works(name)
        await self.settle()

    async def settle(self) -> None:
        """The controller works, and is watched: nodes stand still meanwhile."""
        await settle(TURNS)
        for happening in self.server.history[self.judged :]:
            if happening.resource == Attachment.resource and happening.before is not None:
                self._judge(happening.before, happening.after)
        self.judged = len(self.server.history)
        self.check()

    def _judge(self, before: Doc, after: Doc | None) -> None:
        """Nobody asks for a detach from a ready node that has the volume mounted, nor from a
        machine whose Node was deleted a moment ago."""
        was_leaving = "deletionTimestamp" in before["metadata"]
        is_leaving = after is None or "deletionTimestamp" in after["metadata"]
        if is_leaving and not was_leaving:
            spec = before["spec"]
            pair = (spec["source"]["persistentVolumeName"], spec["nodeName"])
            node = self.server.find(Node, Key("", pair[1]))
            if node is not None:
                is_safe = pair not in self.mounted or not node.is_ready
                assert is_safe, "taken from under a ready node"
            elif pair in self.mounted:
                waited = self.clock.monotonic() - self.deleted[pair[1]]
                assert waited >= MAX_WAIT_SECONDS, "taken from a machine that may run"

    def pod(self, name: str, node: str, volume: str) -> None:
        if self.server.find(Pod, Key("ns", name)) is not None:
            return
        claimed = [{"name": "data", "persistentVolumeClaim": {"claimName": volume}}]
        metadata = {"name": name, "namespace": "ns"}
        self.server.create(
            Pod, {"metadata": metadata, "spec": {"nodeName": node, "volumes": claimed}}
        )

    def wanted(self) -> set[tuple[str, str]]:
        return {
            (name, pod.spec.node_name)
            for pod in self.server.list(Pod).items
            for name in pod.claim_names()
        }

    def node_works(self, name: str) -> None:
        """One round of a kubelet that is alive: unmount, say what is used, look, mount."""
        seen = self.server.find(Node, Key("", name))
        if seen is None or not seen.is_ready:
            return
        wanted = {volume for volume, node in self.wanted() if node == name}
        self.mounted = {(v, n) for v, n in self.mounted if n != name or v in wanted}
        in_use = [CsiName(DRIVER, volume).unique for volume in sorted(wanted)]
        said = self.server.patch(seen, {}, {"volumesInUse": in_use or None})
        listed = {one.name for one in said.status.volumes_attached}
        for volume in wanted:
            if CsiName(DRIVER, volume).unique in listed:
                assert (volume, name) in self.there, "mounted what is not there"
                self.mounted.add((volume, name))

    def driver_works(self) -> None:
        for seen in self.server.list(Attachment).items:
            pair = (seen.volume_name, seen.spec.node_name)
            if seen.is_deleting:
                self._detach(seen, pair)
            elif not seen.is_attached:
                self._attach(seen, pair)

    def _attach(self, seen: Attachment, pair: tuple[str, str]) -> None:
        marked = self.server.patch(seen, {"metadata": {"finalizers": [FINALIZER]}}, {})
        self.there.add(pair)  # even a driver that fails may have done it
        error = {"message": "boom"} if self.fails else None
        self.server.patch(marked, {}, {"attached": not self.fails, "attachError": error})

    def _detach(self, seen: Attachment, pair: tuple[str, str]) -> None:
        if self.fails:
            self.server.patch(seen, {}, {"detachError": {"message": "busy"}})
            return
        self.mounted.discard(pair)
        self.there.discard(pair)
        self.server.patch(seen, {"metadata": {"finalizers": None}}, {})

    def check(self) -> None:
        assert len([pair for pair in self.there if pair[0] == "one"]) <= 1, "on two nodes"
        asked = [one for one in self.server.list(Attachment).items if one.volume_name == "one"]
        assert len(asked) <= 1, "asked for on two nodes"

    async def rest(self) -> None:
        """Everybody works until nothing changes any more."""
        self.fails = False
        self.asleep.clear()
        self.eyes_on_nodes.go_on()
        for name in NODES:
            if self.server.find(Node, Key("", name)) is None:
                self.registers(name)
            seen = self.server.get(Node, Key("", name))
            change = {"conditions": [{"type": "Ready", "status": "True"}]}
            self.server.patch(seen, {"spec": {"taints": None}}, change)
        for _ in range(12):
            await self.round()
            await self.clock.advance(130.0)


ACTS = st.sampled_from(
    [
        "a pod comes",
        "a pod goes",
        "a node sleeps or wakes",
        *DISTURBANCES,
        "nodes are seen late or again",
        "the driver sleeps or wakes",
        "the driver fails or recovers",
        "time passes",
    ]
)
LIVES = st.lists(
    st.tuples(
        st.lists(st.tuples(ACTS, st.integers(0, 11)), min_size=1, max_size=12), st.integers(0, 12)
    ),
    min_size=1,
    max_size=4,
)


async def _live(lives: list[tuple[list[tuple[str, int]], int]]) -> None:
    world = World()
    for acts, writes in lives:
        async with world.controller(writes):  # it dies on the way
            for what, number in acts:
                await world.act(what, number)
    async with world.controller(FOREVER):
        await world.rest()
    wanted, server = world.wanted(), world.server
    asked = {(one.volume_name, one.spec.node_name) for one in server.list(Attachment).items}
    assert asked == world.there
    exclusive = {pair for pair in wanted if pair[0] == "one"}
    shared = wanted - exclusive
    assert {pair for pair in world.there if pair[0] == "two"} == shared
    here = {pair for pair in world.there if pair[0] == "one"}
    assert here <= exclusive
    assert bool(here) is bool(exclusive)
    for name in NODES:
        node = server.get(Node, Key("", name))
        listed = {one.name for one in node.status.volumes_attached}
        assert listed == {CsiName(DRIVER, v).unique for v, n in world.there if n == name}


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(lives=LIVES)
def test_laws(lives: list[tuple[list[tuple[str, int]], int]]) -> None:
    asyncio.run(_live(lives))


BACK_WITH_ITS_TAINT = [
    ("a pod comes", 0),
    ("a node leaves or comes back", 0),
    ("a node leaves or comes back", 0),  # and mounts the volume again
    ("a node sleeps or wakes", 0),
    ("a pod goes", 0),
]
STORIES = {
    "a node that came back has its taint still": BACK_WITH_ITS_TAINT,
    "it is still seen as one that has left": [
        *BACK_WITH_ITS_TAINT[:2],
        ("nodes are seen late or again", 0),
        *BACK_WITH_ITS_TAINT[2:],
    ],
    "its goodbye is seen only when it is back": [
        BACK_WITH_ITS_TAINT[0],
        ("nodes are seen late or again", 0),
        *BACK_WITH_ITS_TAINT[1:4],
        ("nodes are seen late or again", 0),
        ("a pod goes", 0),
    ],
}


@pytest.mark.parametrize("acts", STORIES.values(), ids=STORIES)
def test_stories_of_nodes_that_left(acts: list[tuple[str, int]]) -> None:
    asyncio.run(_live([(acts, FOREVER)]))
