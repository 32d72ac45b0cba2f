"""`mooring apiserver` and `mooring up`: the API server, alone or with all other roles."""

import asyncio
import os
import random
import resource
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import uvloop

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.tokens import ADMIN
from mooring.apiserver.auth.user import CONTROLLERS, SCHEDULER, SIDECARS, User, node_user
from mooring.apiserver.server import Address, Running, running
from mooring.client.local import LocalClient
from mooring.clock import RealClock
from mooring.errors import UsageError
from mooring.host.blocking import bulkheads, in_thread
from mooring.host.bulkhead_metrics import BulkheadMetrics
from mooring.host.loop_watch import LoopWatch
from mooring.host.private_file import make_private_directory
from mooring.model.keys import Key
from mooring.model.storage_class import StorageClass
from mooring.reconcile.merged_metrics import MergedMetrics
from mooring.reconcile.role import Role
from mooring.stack.config import LOOPBACK, Config
from mooring.stack.credentials import keep_kubeconfig, keep_server_url
from mooring.stack.data_directory import check_data_dir
from mooring.stack.listening import UNSPECIFIED, Reach, find_reach, is_local
from mooring.stack.node_name import settle_node_name
from mooring.stack.process import gc_frozen, run_until, stop_event
from mooring.stack.readiness import (
    Block,
    Readiness,
    not_ready_line,
    ready_block,
    ready_line,
    warning_line,
)
from mooring.stack.sd_notify import READY, STOPPING, sd_notify, status

if TYPE_CHECKING:
    from mooring.driver.role import Bundled, NoDriver
    from mooring.node.role import NodeRole
    from mooring.node.root import NodeRoot
    from mooring.reconcile.elected import Build
    from mooring.reconcile.shared_informer import SharedInformers

Say = Callable[[str], None]

SIDECAR_LEASES = "default"  # the namespace, as for `mooring sidecar` outside of a pod
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
            client = _client_of(server, CONTROLLERS)
            await settle_node_name(client, RealClock(), config.data_dir, config.node_name)
        with ExitStack() as held:
            root = await in_thread(held.enter_context, node_root(config))
            driver = await in_thread(held.enter_context, bundled(config, root))
            built = await build_roles(config, server, root, driver)
            readiness.expect(built.roles)
            async with _telling(config, served, built, readiness, say):
                await _run_roles(stop, server, built.roles)


async def _run_roles(stop: asyncio.Event, server: Running, roles: Sequence[Role]) -> None:
    counted = [collector for role in roles for collector in role.collectors()]
    with LoopWatch() as watch:
        server.parts.metrics.add(MergedMetrics([*counted, BulkheadMetrics(bulkheads()), watch]))
        async with gc_frozen(roles):
            await run_until(stop, {role.name: role.run for role in roles})


@asynccontextmanager
async def _telling(
    config: Config, served: "Served", built: "Built", readiness: Readiness, say: Say
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

        classes = await _client_of(server, CONTROLLERS).list(StorageClass)
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


class Built(msgspec.Struct, frozen=True):
    roles: Sequence[Role]
    limits: tuple[str, ...]  # what will not work here, each with its reason and remedy


async def build_roles(
    config: Config,
    server: Running,
    root: "NodeRoot | None" = None,
    driver: "Bundled | NoDriver | None" = None,
) -> Built:
    """All roles of one process. A role that another process leads waits for its lease."""
    # Not at the top: these imports take 0.2 s, and the server answers meanwhile.
    from mooring.controllers import role as controllers
    from mooring.controllers.node_lifecycle.view import Monitoring
    from mooring.controllers.options import Options
    from mooring.controllers.snapshots.options import SNAPSHOT_LEASE, SnapshotLease, SnapshotOptions
    from mooring.plugins.flex.drivers import Drivers
    from mooring.plugins.host_path.volumes import DataDirectoryVolumes
    from mooring.reconcile.elected import LEASES, Candidate, ElectedRole
    from mooring.reconcile.lease import BESIDE_THE_SERVER
    from mooring.reconcile.shared_informer import SharedInformers
    from mooring.scheduling import role as scheduling

    clock, rng = RealClock(), random.SystemRandom()
    try:
        await in_thread(make_private_directory, config.volumes)
    except OSError as error:
        raise UsageError(f"cannot make {config.volumes}: {error.strerror}") from error
    temporary = Path(tempfile.gettempdir())
    ours = (config.data_dir.resolve(), *(() if root is None else (root.layout.root,)))
    host_path = DataDirectoryVolumes(config.volumes, ours, temporary)
    identity = _identity(server)
    lease = SnapshotLease(Key(LEASES, SNAPSHOT_LEASE), identity, BESIDE_THE_SERVER)
    options = Options(
        host_path,
        monitoring=Monitoring(grace=config.node_monitor_grace),
        snapshots=SnapshotOptions(lease=lease),
        flex=Drivers(config.volume_plugin_dir, clock),
    )
    informers = SharedInformers(_client_of(server, CONTROLLERS), clock, rng)

    def elected(name: str, user: User, build: "Build") -> Role:
        client = _client_of(server, user)
        return ElectedRole(name, Candidate(client, clock, rng, identity, informers), build)

    roles: list[Role] = [
        informers,
        elected(controllers.NAME, CONTROLLERS, lambda loops: controllers.build(loops, options)),
        elected(scheduling.NAME, SCHEDULER, scheduling.build),
    ]
    limits: tuple[str, ...] = ()
    if root is not None:
        from mooring.reconcile.loops import Loops
        from mooring.sidecars.driver_flags import parse_flags
        from mooring.sidecars.options import SidecarOptions
        from mooring.sidecars.role import SIDECARS as ALL
        from mooring.sidecars.role import Leases, SidecarsRole
        from mooring.stack.driver_sidecars import serve_drivers
        from mooring.stack.limits import driver_limits

        node, limits = await _build_node(config, server, root, ours)
        client = _client_of(server, SIDECARS)
        loops = Loops(SidecarsRole.name, client, clock, rng, informers)
        leases = Leases(SIDECAR_LEASES, identity, BESIDE_THE_SERVER, yields=True)
        default = SidecarOptions()
        by_driver = parse_flags(config.sidecar_flags, default)
        sidecars = SidecarsRole(loops, default, leases, ALL, by_driver)
        serve_drivers(node.drivers, sidecars, config.no_sidecars_for)
        roles += (node, sidecars)
        roles.append(_build_storage(config, server, driver))
        roles += _build_metadata(config, server, driver, informers)
        limits += await in_thread(driver_limits, driver)
    return Built(roles, limits)


def _build_storage(config: Config, server: Running, driver: "Bundled | NoDriver | None") -> Role:
    """The volumes of a claim that names no class."""
    from mooring.driver.role import Bundled, DriverRole
    from mooring.stack.default_class import DefaultClassRole

    if isinstance(driver, Bundled):
        return DriverRole(_client_of(server, SIDECARS), RealClock(), driver)
    return DefaultClassRole(_client_of(server, CONTROLLERS), RealClock(), config.volumes)


def _build_metadata(
    config: Config,
    server: Running,
    driver: "Bundled | NoDriver | None",
    informers: "SharedInformers",
) -> list[Role]:
    """Tells the changed blocks of the bundled driver's snapshots to programs of this machine."""
    from mooring.csi.serve_tls import TlsFiles
    from mooring.driver.role import Bundled
    from mooring.driver.settings import NAME as DRIVER
    from mooring.reconcile.loops import Loops
    from mooring.sidecars.snapshot_metadata import run

    if not isinstance(driver, Bundled) or DRIVER in config.no_sidecars_for:
        return []
    pki, access = server.pki, server.parts.access
    api = InProcessApi(server.parts.backend, SIDECARS, review_verbs=access.review_verbs)
    loops = Loops(run.NAME, LocalClient(api), RealClock(), random.SystemRandom(), informers)
    place = run.Place(LOOPBACK, 0, TlsFiles(pki.server_file, pki.server_file))
    audience = f"{run.NAME}.{DRIVER}"
    told = run.Introduction(LOOPBACK, pki.ca_certificate, audience)
    options = run.MetadataOptions(introduction=told)
    return [run.SnapshotMetadataRole(loops, str(driver.socket), place, options)]


async def _build_node(
    config: Config, server: Running, root: "NodeRoot", hidden: tuple[Path, ...]
) -> tuple["NodeRole", tuple[str, ...]]:
    """And what will not work on it."""
    from mooring.oci.probe import probe

    async with asyncio.TaskGroup() as tasks:  # each takes a moment, the one here, the other outside
        probing = tasks.create_task(probe())
        tasks.create_task(in_thread(_load_node))
    from mooring.node import role
    from mooring.node.instance import find_instance
    from mooring.node.options import NodeOptions
    from mooring.node.status.heartbeat import Holding
    from mooring.reconcile.loops import Loops
    from mooring.stack.limits import node_limits

    instance = await in_thread(find_instance, root.layout.root)
    options = NodeOptions(
        config.node_name,
        Holding(instance, insists=True),
        host_rootfs=config.host_rootfs,
        hidden=hidden,
        authority=server.pki.ca_certificate,
        api_server=reachable(server).url,
        seccomp_default=config.seccomp_default,
        allowed_unsafe_sysctls=config.allowed_unsafe_sysctls,
        volume_plugin_dir=config.volume_plugin_dir,
    )
    client = _client_of_node(server, config.node_name)
    loops = Loops(role.NAME, client, RealClock(), random.SystemRandom())
    machine = await role.read_machine(root, probing.result())
    limits = node_limits(root.cannot, machine.runtime, is_root=os.geteuid() == 0)
    return role.build(loops, root, options, machine), limits


def _load_node() -> None:
    """Import the node's modules, in a thread: it takes half a second, while the server answers."""
    import mooring.node.role  # noqa: F401


def _identity(server: Running) -> str:
    """The leader-election identity: the same at every start with a data directory, and unique."""
    found = server.parts.backend.objects.find("namespaces", "", "kube-system")
    uid = found["metadata"]["uid"] if found else uuid.uuid4()  # full disk, empty store
    return f"mooring-up_{uid}"


def _client_of(server: Running, user: User) -> LocalClient:
    return LocalClient(InProcessApi(server.parts.backend, user))


def _client_of_node(server: Running, name: str) -> LocalClient:
    """A client with the rights of this node only, as of a node on another machine."""
    parts = server.parts
    access = parts.access
    api = InProcessApi(
        parts.backend, node_user(name), access.part_verbs, access.check, access.review_verbs
    )
    return LocalClient(api)


class Served(msgspec.Struct, frozen=True):
    server: Running
    reach: Reach

    @property
    def url(self) -> str:
        """That clients can use, those on other machines too if they may."""
        return Address(self.reach.host, self.server.address.port).url


@asynccontextmanager
async def serving(config: Config) -> AsyncIterator[Served]:
    """A running API server, whose kubeconfig is written."""
    address = Address(config.host, config.port)
    await in_thread(check_data_dir, config.data_dir)
    reach = find_reach(config.host, config.names, _addresses(config.host))
    async with running(config.data_dir, address, RealClock(), reach.names) as server:
        write_kubeconfigs(config, server)
        served = Served(server, reach)
        keep_server_url(config.data_dir, served.url)
        yield served


def _addresses(host: str) -> tuple[str, ...]:
    """Of this machine, when they matter."""
    if is_local(host):
        return ()
    from mooring.node.status.hardware import own_addresses

    return own_addresses()


def reachable(server: Running) -> Address:
    """The server's address for clients on this machine."""
    host = server.address.host
    return Address(LOOPBACK if host in UNSPECIFIED else host, server.address.port)


def write_kubeconfigs(config: Config, server: Running) -> None:
    """Write the admin's kubeconfig to the data directory and to `config.kubeconfig`."""
    kubeconfig = Kubeconfig(
        reachable(server).url,
        server.pki.ca_certificate,
        server.tokens.token(ADMIN),
    )
    for path in dict.fromkeys((config.own_kubeconfig, config.told_kubeconfig)):
        keep_kubeconfig(kubeconfig, path)
