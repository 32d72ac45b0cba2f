"""When everything is ready, and in which words."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from prometheus_client.registry import Collector

from mooring.apiserver.api.health import Health
from mooring.model.meta import ObjectMeta
from mooring.model.storage_class import StorageClass
from mooring.stack.readiness import (
    PATIENCE_SECONDS,
    TROUBLE_SECONDS,
    Block,
    Readiness,
    not_ready_line,
    ready_block,
)
from tests.fakes.clock import VirtualClock, settle

LINE = "mooring is ready at https://h:1 (kubectl --kubeconfig d/kubeconfig)"
LOOP = StorageClass(metadata=ObjectMeta(name="loop"), provisioner="loop.dev")

BLOCKS = {
    "a node with a driver": (
        Block("https://h:1", "d/kubeconfig", "n1", LOOP),
        [LINE, "  node: n1", "  default class: loop (loop.dev)"],
    ),
    "no node, and nothing for a bare claim": (
        Block("https://h:1", "d/kubeconfig"),
        [LINE, "  node: none (--no-node)", "  default class: none: a claim has to name one"],
    ),
    "what will not work, each on a line": (
        Block("https://h:1", "d/kubeconfig", "n1", LOOP, ("pods: no runc; install it", "b")),
        [
            LINE,
            "  node: n1",
            "  default class: loop (loop.dev)",
            "  will not work: pods: no runc; install it",
            "  will not work: b",
        ],
    ),
    "a path that a shell would split": (
        Block("https://h:1", "my data/kubeconfig"),
        [
            "mooring is ready at https://h:1 (kubectl --kubeconfig 'my data/kubeconfig')",
            "  node: none (--no-node)",
            "  default class: none: a claim has to name one",
        ],
    ),
    "a warning comes last": (
        Block("https://h:1", "d/kubeconfig", "n1", LOOP, warning="others reach it"),
        [LINE, "  node: n1", "  default class: loop (loop.dev)", "  warning: others reach it"],
    ),
}


@pytest.mark.parametrize(("block", "lines"), BLOCKS.values(), ids=BLOCKS)
def test_the_block(block: Block, lines: list[str]) -> None:
    assert ready_block(block).split("\n") == lines


def test_what_is_waited_for_is_one_line_with_the_trouble_of_the_disk() -> None:
    said = not_ready_line("https://h:1", "k", ["controllers", "node"], "no room")
    assert said == (
        "mooring answers at https://h:1 (kubectl --kubeconfig k) but is not ready: "
        "waiting for controllers, node (no room)"
    )


class Slow:
    """A role that is ready when it is told so."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_synced = asyncio.Event()

    async def run(self) -> None: ...

    async def synced(self) -> None:
        await self.is_synced.wait()

    def collectors(self) -> Iterable[Collector]:
        return ()


class Slower(Slow):
    """One that is not ready when its caches are full."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.is_ready = asyncio.Event()

    async def ready(self) -> None:
        await self.is_ready.wait()

    def troubles(self) -> str:
        return "stuck: pv-1"


class World:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.has_trouble = False
        self.health = Health(live={}, ready={})
        self.clock = VirtualClock()
        self.readiness = Readiness(self.health, self.clock)

    async def say_ready(self) -> None:
        self.said.append("ready")

    def say_waiting(self) -> None:
        self.said.append(f"waiting for {self.readiness.waiting_for()}")

    @asynccontextmanager
    async def telling(self, *roles: Slow) -> AsyncIterator[None]:
        self.readiness.expect(roles)
        told = self.readiness.tell(
            roles, lambda: self.has_trouble, self.say_waiting, self.say_ready
        )
        task = asyncio.create_task(told)
        await settle()
        yield
        task.cancel()
        await asyncio.wait([task])


async def test_before_any_role_is_known_the_server_is_not_ready() -> None:
    assert World().health.answer("/readyz/startup", {})[0] == 500


async def test_ready_is_said_once_when_all_roles_are() -> None:
    world, controllers, node = World(), Slow("controllers"), Slower("node")
    async with world.telling(controllers, node):
        controllers.is_synced.set()
        node.is_synced.set()
        await settle()
        assert world.said == []
        code, text = world.health.answer("/readyz", {})
        assert code == 500
        assert "[-]startup failed: not ready yet\n[+]controllers ok\n[-]node failed" in text
        node.is_ready.set()
        await settle()
        assert world.said == ["ready"]
        assert world.health.answer("/readyz", {}) == (200, "ok")
        assert "[+]node ok (stuck: pv-1)" in world.health.answer("/readyz", {"verbose": [""]})[1]
        await world.clock.advance(PATIENCE_SECONDS * 2)
        assert world.said == ["ready"]


async def test_who_has_trouble_says_soon_what_is_waited_for() -> None:
    world, node = World(), Slower("node")
    world.has_trouble = True
    async with world.telling(node):
        await world.clock.advance(TROUBLE_SECONDS)
        assert world.said == ["waiting for ['node']"]
        await world.clock.advance(PATIENCE_SECONDS)
        assert world.said == ["waiting for ['node']"]


async def test_what_takes_long_is_told_once_and_ready_all_the_same() -> None:
    world, controllers, node = World(), Slow("controllers"), Slower("node")
    async with world.telling(controllers, node):
        controllers.is_synced.set()
        await world.clock.advance(PATIENCE_SECONDS * 3)
        assert world.said == ["waiting for ['node']"]
        node.is_synced.set()
        node.is_ready.set()
        await settle()
        assert world.said == ["waiting for ['node']", "ready"]
