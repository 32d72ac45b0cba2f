"""A cluster at work: API server, controllers, scheduler, fake nodes and drivers, on one loop.

It is wired as `mooring up` is, but for three things: objects are kept in memory only, time is a
clock that can be moved on, and nodes and CSI drivers are played.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import uvloop

from mooring.apiserver.auth.user import CONTROLLERS
from mooring.apiserver.store.contract import Store
from mooring.apiserver.store.memory import MemoryStore
from mooring.client.local import LocalClient
from mooring.clock import Clock, RealClock
from mooring.host.blocking import in_thread
from mooring.model.document import Doc
from mooring.model.kubernetes_version import VERSIONS
from mooring.reconcile.role import Role
from mooring.stack.build_roles import build_elected, client_of
from mooring.stack.config import Config
from mooring.stack.process import run_until
from mooring.stack.up import Served, serving
from mooring.testing.clock import AdvancingClock
from mooring.testing.errors import ClusterError
from mooring.testing.settings import Settings

if TYPE_CHECKING:
    from mooring.testing.drivers import FakeDrivers
    from mooring.testing.fake_driver import FakeDriver
    from mooring.testing.fake_node.run import FakeNodes

Ready = Callable[["World"], None]


def run_world(data_dir: Path, settings: Settings, ready: Ready) -> None:
    """Run a cluster on a loop of its own, in this thread, until `World.stop` is called."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(data_dir, settings, ready))


async def _run(data_dir: Path, settings: Settings, ready: Ready) -> None:
    clock = AdvancingClock(RealClock())
    config = Config(
        data_dir,
        port=0,
        volume_plugin_dir=data_dir / "flexvolume",
        release=VERSIONS[settings.kubernetes_version],
    )
    async with serving(config, clock, _in_memory) as served:
        world = World(served, clock)
        ready(world)
        if settings.controllers is None or settings.controllers:
            await in_thread(_load_roles)  # takes 0.2 s, while the server answers
            if not world.is_stopping:  # else its directory may be gone: nothing is made there
                world.run(*await _build(config, served, clock, settings))
        await world.serve()


def _in_memory(_: Path, clock: Clock) -> Store:
    return MemoryStore(clock)


def _load_roles() -> None:
    import mooring.controllers.role
    import mooring.scheduling.role  # noqa: F401


async def _build(
    config: Config, served: Served, clock: Clock, settings: Settings
) -> Sequence[Role]:
    server = served.server
    built = await build_elected(config, server, clock, chosen=settings.controllers)
    roles = list(built.roles)
    if settings.default_class:
        from mooring.stack.default_class import DefaultClassRole

        roles.append(DefaultClassRole(client_of(server, CONTROLLERS), clock, config.volumes))
    return roles


class World:
    """Its methods run on its loop; arguments and results are JSON, so that a pipe can carry them.

    `call` is for whoever has a name and arguments only.
    """

    def __init__(self, served: Served, clock: AdvancingClock) -> None:
        self.url = served.url
        self.loop = asyncio.get_running_loop()
        self._server = served.server
        self._clock = clock
        self._stop = asyncio.Event()
        self._one_addition = asyncio.Lock()
        self._roles: asyncio.Queue[Role] = asyncio.Queue()
        self._nodes: FakeNodes | None = None
        self._drivers: FakeDrivers | None = None
        self._calls: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "advance": clock.advance,
            "now": self._now,
            "add_node": self._add_node,
            "silence_node": self._silence_node,
            "add_driver": self._add_driver,
            "script_driver": self._script_driver,
            "calls_of_driver": self._calls_of_driver,
            "await_call_of_driver": self._await_call_of_driver,
        }

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Raises: ClusterError, ApiError."""
        return await self._calls[name](**arguments)

    def stop(self) -> None:
        self._stop.set()

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    def run(self, *roles: Role) -> None:
        """Run these too, until the end."""
        for role in roles:
            self._roles.put_nowait(role)

    async def serve(self) -> None:
        """Until stopped. Raises: RoleDied."""
        await run_until(self._stop, {"cluster": self._run_roles})

    async def _run_roles(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                role = await self._roles.get()
                tasks.create_task(role.run(), name=role.name)

    async def _now(self) -> str:
        return self._clock.now().isoformat()

    # nodes

    async def _add_node(self, name: str, labels: dict[str, str], capacity: dict[str, str]) -> None:
        async with self._one_addition:
            if self._nodes is None:
                await in_thread(_load_fake_nodes)
                from mooring.testing.fake_node.run import FakeNodes

                self._nodes = FakeNodes(self._client(), self._clock, SystemRandom())
                self.run(self._nodes.role)
            await self._nodes.add(name, labels, capacity)
            await self._introduce()

    async def _silence_node(self, name: str) -> None:
        if self._nodes is None or not self._nodes.silence(name):
            raise ClusterError(f"there is no fake node {name!r}: add_node makes one")

    # CSI drivers

    async def _add_driver(self, name: str, storage_class: str, *, is_default: bool) -> None:
        async with self._one_addition:
            if self._drivers is None:
                await in_thread(_load_drivers)
                from mooring.testing.drivers import FakeDrivers

                self._drivers = FakeDrivers(self._client(), self._clock, SystemRandom())
                self.run(self._drivers.role)
            await self._drivers.add(name, storage_class, is_default=is_default)
            await self._introduce()

    async def _script_driver(self, name: str, **script: Any) -> None:
        self._driver(name).script(**script)

    async def _calls_of_driver(self, name: str) -> list[Doc]:
        return self._driver(name).told_calls()

    async def _await_call_of_driver(self, name: str, rpc: str, count: int, seconds: float) -> None:
        await self._driver(name).called(rpc, count, seconds)

    def _driver(self, name: str) -> "FakeDriver":
        if self._drivers is None:
            raise ClusterError(f"there is no fake CSI driver {name!r}: add_csi_driver makes one")
        return self._drivers.get(name)

    async def _introduce(self) -> None:
        """Every driver is on every node."""
        if self._nodes is not None and self._drivers is not None:
            await self._nodes.offer(self._drivers.names())

    def _client(self) -> LocalClient:
        return client_of(self._server, CONTROLLERS)


def _load_fake_nodes() -> None:
    import mooring.testing.fake_node.run  # noqa: F401


def _load_drivers() -> None:
    import mooring.testing.drivers  # noqa: F401
