"""A node whose drivers register: real sockets, an API in memory, time that passes by itself."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.clock import RealClock
from mooring.csi.channel import Connection
from mooring.csi.plugin_info import CSI_PLUGIN, OFFERED_VERSIONS, Plugin, RegistrationStatus
from mooring.csi.registration import offering
from mooring.errors import NotFound
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.node.registration.announce import Announcer
from mooring.node.registration.run import Registrations
from mooring.plugins.csi.drivers import Drivers
from tests.fakes.client import FakeClient
from tests.fakes.csi_driver import FakeCsiDriver
from tests.fakes.fake_server import FakeServer
from tests.fakes.waiting import until

NODE = "n1"
KEY = Key("", NODE)
DRIVER = "fake.csi.mooring.dev"


class OwnNode:
    name = NODE

    def __init__(self, client: FakeClient) -> None:
        self._client = client

    async def read(self) -> Node:
        return await self._client.get(Node, KEY)


class World:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.directory = place / "reg"
        self.directory.mkdir()
        clock = RealClock()
        rng = random.Random(1)  # noqa: S311  no secret
        self.server = FakeServer(clock)
        self.client = FakeClient(self.server, clock)
        self.drivers = Drivers()
        self.announcer = Announcer(self.client, OwnNode(self.client), clock, rng)
        self.registrations = Registrations(
            self.directory, self.drivers, self.announcer, clock, self._connect
        )
        self.driver = FakeCsiDriver(place / "csi.sock")
        self.told: list[RegistrationStatus] = []

    @asynccontextmanager
    async def running(self, *, has_node: bool = True) -> AsyncIterator[None]:
        task = asyncio.create_task(self.registrations.run())
        if has_node:
            self.create_node()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    def create_node(self, **labels: str) -> None:
        """The API has it, and the node hears of that."""
        node = self.server.create(Node, {"metadata": {"name": NODE, "labels": labels}})
        self.registrations.node_changed(None, node)

    @asynccontextmanager
    async def registrar(
        self,
        name: str = DRIVER,
        *,
        socket: str = "a.sock",
        versions: tuple[str, ...] = OFFERED_VERSIONS,
        endpoint: Path | None = None,
    ) -> AsyncIterator[list[RegistrationStatus]]:
        """Entered once it has been told something; what it is told is also in `told`."""
        own: list[RegistrationStatus] = []

        def tell(status: RegistrationStatus) -> None:
            own.append(status)
            self.told.append(status)

        plugin = Plugin(CSI_PLUGIN, name, str(endpoint or self.driver.socket), versions)
        async with offering(self.directory / socket, plugin, tell):
            await until(lambda: bool(own))
            yield own

    def entries(self) -> list[str]:
        """The drivers that the CSINode tells of."""
        try:
            found = self.server.get(CsiNode, KEY)
        except NotFound:
            return []
        return [driver.name for driver in found.spec.drivers or ()]

    def node(self) -> Node:
        return self.server.get(Node, KEY)

    def _connect(self, endpoint: str, _: str) -> Connection:
        return Connection(endpoint)
