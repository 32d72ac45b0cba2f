"""`mooring apiserver` and `mooring up`: the API server, alone or with all other roles."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import msgspec
import uvloop

from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.tokens import ADMIN
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.server import (
    Address,
    OpenOwn,
    OpenStore,
    Running,
    open_database,
    running,
)
from mooring.clock import Clock, RealClock
from mooring.csi.call_query import PATH as CALLS_PATH
from mooring.host.blocking import bulkheads, in_thread
from mooring.host.bulkhead_metrics import BulkheadMetrics
from mooring.host.loop_watch import LoopWatch
from mooring.model.storage_class import StorageClass
from mooring.reconcile.merged_metrics import MergedMetrics
from mooring.reconcile.role import Role
from mooring.stack.build_roles import Built, build_roles, client_of
from mooring.stack.config import Config
from mooring.stack.credentials import keep_kubeconfig, keep_server_url
from mooring.stack.csi_calls_page import CsiCallsPage
from mooring.stack.data_directory import check_data_dir, check_objects_are_here
from mooring.stack.frozen_caches import gc_frozen
from mooring.stack.listening import Reach, find_reach, is_local, reachable
from mooring.stack.node_name import settle_node_name
from mooring.stack.otlp import is_configured
from mooring.stack.process import run_until, stop_event
from mooring.stack.readiness import (
    Block,
    Readiness,
    not_ready_line,
    ready_block,
    ready_line,
    warning_line,
)
from mooring.stack.sd_notify import READY, STOPPING, sd_notify, status
from mooring.stack.ui import show_ui

if TYPE_CHECKING:
    from mooring.driver.role import Bundled, NoDriver
    from mooring.node.root import NodeRoot
    from mooring.stack.span_export import Run

Say = Callable[[str], None]

REAL = RealClock()

MOST_OPEN_FILES = 1 << 16  # if the system sets no limit


def run_apiserver(config: Config, say: Say) -> None:
    """Run until SIGTERM or SIGINT; `say` prints one line when the server is ready."""
    allow_many_connections()
    uvloop.run(_apiserver(config, say))


def run_everything(config: Config, say: Say) -> None:
    """Run the API server and all other roles; `say` prints the block when all are ready.

    Raises: RoleDied when one of them ends by itself.
    """
    allow_many_connections()
    uvloop.run(_everything(config, say))
    if config.node_name:
        _say_what_goes_on(config, say)


def _say_what_goes_on(config: Config, say: Say) -> None:
    """Containers and mounts outlive this process; nothing is said when there are none."""
    from mooring.upkeep.running import tell_what_goes_on

    if line := tell_what_goes_on(config.data_dir):
        say(line)


def allow_many_connections() -> None:
    """Raise the limit on open files: each client needs one, and the default is low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def _apiserver(config: Config, say: Say) -> None:
    stop = stop_event()
    async with serving(config) as served:
        server, reach = served.server, served.reach
        say(ready_line(served.url, str(config.told_kubeconfig)))
        if reach.warning:
            say(warning_line(reach.warning))
        with LoopWatch() as watch:
            server.parts.metrics.add(watch)
            await stop.wait()


async def _everything(config: Config, say: Say) -> None:
    """The roles stop before the server that they write to."""
    stop = stop_event()
    async with serving(config) as served:
        server = served.server
        readiness = Readiness(server.parts.health, RealClock())
        if config.node_name:
            client = client_of(server, CONTROLLERS)
            await settle_node_name(client, RealClock(), config.data_dir, config.node_name)
        with ExitStack() as held:
            root = await in_thread(held.enter_context, node_root(config))
            driver = await in_thread(held.enter_context, bundled(config, root))
            built = await build_roles(config, server, root, driver)
            server.parts.pages.add(CALLS_PATH, CsiCallsPage(RealClock()).answer)
            readiness.expect(built.roles)
            async with _telling(config, served, built, readiness, say):
                beside = await in_thread(_span_exports, config)
                await _run_roles(stop, server, built.roles, beside)


def _span_exports(config: Config) -> Mapping[str, "Run"]:
    if not is_configured(os.environ):
        return {}
    from mooring.stack.span_export import exports_of

    return exports_of("mooring-up", config.own_kubeconfig)


async def _run_roles(
    stop: asyncio.Event, server: Running, roles: Sequence[Role], beside: Mapping[str, "Run"]
) -> None:
    counted = [collector for role in roles for collector in role.collectors()]
    with LoopWatch() as watch:
        server.parts.metrics.add(MergedMetrics([*counted, BulkheadMetrics(bulkheads()), watch]))
        async with gc_frozen(roles, REAL):
            await run_until(stop, {**{role.name: role.run for role in roles}, **beside})


@asynccontextmanager
async def _telling(
    config: Config, served: "Served", built: Built, readiness: Readiness, say: Say
) -> AsyncIterator[None]:
    """Run the roles in here: `say` is told when they are ready, or keep the user waiting."""
    server, url, kubeconfig = served.server, served.url, str(config.told_kubeconfig)

    store = server.parts.backend.store

    def has_trouble() -> bool:
        return store.trouble is not None

    def say_waiting() -> None:
        line = not_ready_line(url, kubeconfig, readiness.waiting_for(), store.trouble)
        sd_notify(status(line))
        say(line)

    async def say_ready() -> None:
        from mooring.controllers.binding.decide.claim import choose_default

        classes = await client_of(server, CONTROLLERS).list(StorageClass)
        default = choose_default(classes.readable)
        warning = served.reach.warning
        block = Block(url, kubeconfig, config.node_name, default, built.limits, warning)
        say(ready_block(block))
        sd_notify(READY, status(f"ready at {url}"))

    async with asyncio.TaskGroup() as tasks:
        told = readiness.tell(built.roles, has_trouble, say_waiting, say_ready)
        telling = tasks.create_task(told)
        yield
        telling.cancel()
        sd_notify(STOPPING)


@contextmanager
def node_root(config: Config) -> "Iterator[NodeRoot | None]":
    """The root directory of this process's node; None without a node."""
    if not config.node_name:
        yield None
        return
    from mooring.host.mount import Mounts
    from mooring.node.home import take_home
    from mooring.node.root import held_root

    home = take_home(config.data_dir, Mounts(), config.root_dir)
    with held_root(home) as root:
        yield root


@contextmanager
def bundled(config: Config, root: "NodeRoot | None") -> "Iterator[Bundled | NoDriver | None]":
    """The bundled driver; None where there is no node, or this process cannot mount."""
    if root is None or root.cannot:
        yield None
        return
    from mooring.driver.role import bundled_driver

    with bundled_driver(config.node_name, config.driver_state, root.layout) as driver:
        yield driver


class Served(msgspec.Struct, frozen=True):
    server: Running
    reach: Reach

    @property
    def url(self) -> str:
        """That clients can use, those on other machines too if they may."""
        return Address(self.reach.host, self.server.address.port).url


@asynccontextmanager
async def serving(
    config: Config, clock: Clock = REAL, open_own: OpenOwn = open_database
) -> AsyncIterator[Served]:
    """A running API server, whose kubeconfig is written."""
    address = Address(config.host, config.port)
    await in_thread(check_data_dir, config.data_dir)
    reach = find_reach(config.host, config.names, _addresses(config.host))
    where, kinds = config.data_dir, builtin(config.gates, config.release)
    async with (
        _shared_store(config, clock) as shared,
        running(where, address, clock, reach.names, kinds, shared, open_own) as server,
    ):
        write_kubeconfigs(config, server)
        show_ui(server)
        served = Served(server, reach)
        keep_server_url(config.data_dir, served.url)
        yield served


@asynccontextmanager
async def _shared_store(config: Config, clock: Clock) -> AsyncIterator[OpenStore | None]:
    """How to open the store that several servers share; None: the server has one of its own."""
    if config.etcd is None:
        await in_thread(check_objects_are_here, config.data_dir)
        yield None
        return
    from mooring.stack.etcd import open_etcd, take_data_dir

    settings = config.etcd
    lock = await in_thread(take_data_dir, config.data_dir)
    try:
        yield lambda kinds: open_etcd(settings, config.data_dir, kinds, clock)
    finally:
        lock.release()


def _addresses(host: str) -> tuple[str, ...]:
    """Of this machine, when they matter."""
    if is_local(host):
        return ()
    from mooring.node.status.hardware import own_addresses

    return own_addresses()


def write_kubeconfigs(config: Config, server: Running) -> None:
    """Write the admin's kubeconfig to the data directory and to `config.kubeconfig`."""
    kubeconfig = Kubeconfig(
        reachable(server.address).url,
        server.pki.ca_certificate,
        server.tokens.token(ADMIN),
    )
    for path in dict.fromkeys((config.own_kubeconfig, config.told_kubeconfig)):
        keep_kubeconfig(kubeconfig, path)
