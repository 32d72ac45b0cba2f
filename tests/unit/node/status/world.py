"""A node's status before a server in memory, in virtual time."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.node.own_node import WatchedNode
from mooring.node.status.hardware import Amounts, Identity
from mooring.node.status.heartbeat import Heartbeat
from mooring.node.status.report import Report
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

NAME = "worker-1"
KEY = Key("", NAME)
GIB = 1 << 30
AMOUNTS = Amounts(
    cpus=4,
    memory=8 * GIB,
    memory_free=4 * GIB,
    storage=100 * GIB,
    storage_free=50 * GIB,
    inodes=1000,
    inodes_free=900,
    huge_pages={2 << 20: 0},
)
IDENTITY = Identity(
    architecture="amd64",
    kernel="6.1.0",
    os_image="Some Linux",
    machine_id="m",
    system_uuid="s",
    boot_id="b",
    addresses=("10.0.0.7",),
)


class Volumes:
    """What the volumes of the node would answer."""

    def __init__(self) -> None:
        self.is_synced = True
        self.names: tuple[str, ...] = ()
        self.reported: tuple[str, ...] | None = None
        self._handlers: list[Callable[[], None]] = []

    def in_use(self) -> tuple[str, ...]:
        return self.names

    def on_in_use_change(self, handler: Callable[[], None]) -> None:
        self._handlers.append(handler)

    def reported_in_use(self, names: Iterable[str]) -> None:
        self.reported = tuple(names)

    def use(self, *names: str) -> None:
        self.names = names
        for handler in self._handlers:
            handler()


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.volumes = Volumes()
        self.amounts = AMOUNTS
        rng = self.rng = random.Random(1)  # noqa: S311  no secret
        self.own_node = WatchedNode(self.client, self.clock, rng, NAME, {}, {"cpu": "4"})
        self.report = Report(
            self.client,
            self.clock,
            rng,
            self.own_node,
            self.volumes,
            IDENTITY,
            self._measure,
        )
        self.heartbeat = Heartbeat(self.client, self.clock, rng, self.own_node)

    async def _measure(self) -> Amounts:
        return self.amounts

    @asynccontextmanager
    async def running(self) -> AsyncIterator["World"]:
        async with asyncio.TaskGroup() as tasks:
            parts = (self.own_node.informer, self.report, self.heartbeat)
            running = [tasks.create_task(part.run()) for part in parts]
            await settle()
            yield self
            for task in running:
                task.cancel()

    def node(self) -> Node:
        return self.server.get(Node, KEY)

    def writes(self) -> list[str]:
        """What was written to nodes so far; the list starts anew."""
        found = [
            call
            for call in self.client.calls
            if " Node " in call and not call.startswith(("get", "list", "watch"))
        ]
        self.client.calls.clear()
        return found
