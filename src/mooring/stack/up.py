"""The API server in this process, alone or with all other roles, from start to a clean stop."""

import asyncio
import gc
import random
import resource
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
from mooring.reconcile.merged_metrics import MergedMetrics
from mooring.reconcile.role import Role, Troubled
from mooring.stack.config import LOOPBACK, Config
from mooring.stack.credentials import keep_kubeconfig
from mooring.stack.data_directory import check_data_dir
from mooring.stack.process import run_until, sparing, stop_asked

if TYPE_CHECKING:
    from mooring.driver.role import Bundled
    from mooring.node.role import NodeRole
    from mooring.node.root import NodeRoot
    from mooring.reconcile.elected import Build

Say = Callable[[str], None]

SIDECAR_LEASES = "default"  # as of `mooring sidecar` outside of a pod
MOST_OPEN_FILES = 1 << 16  # where the system sets no limit
GARBAGE_THRESHOLDS = (20_000, 20, 50)  # Python's own are 700, 10, 10


def run_apiserver(config: Config, say: Say) -> None:
    """Run until SIGTERM or SIGINT; `say` is told one line when the server is ready."""
    allow_many_connections()
    collect_garbage_seldom()
    uvloop.run(_apiserver(config, say))


def run_everything(config: Config, say: Say) -> None:
    """The same, and all other roles in the same process; they sync when the server is ready.

    Raises: RoleDied when one of them ends by itself.
    """
    allow_many_connections()
    collect_garbage_seldom()
    uvloop.run(_everything(config, say))
    if config.node_name:
        _say_what_goes_on(config, say)


def _say_what_goes_on(config: Config, say: Say) -> None:
    """Containers and mounts outlive this process; nothing is said when there are none."""
    from mooring.upkeep.running import tell_what_goes_on

    if line := tell_what_goes_on(config.data_dir):
        say(line)


def allow_many_connections() -> None:
    """Each client costs an open file; the limit that programs start with is meant for few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def collect_garbage_seldom() -> None:
    """Requests leave hardly any cycles, but while they are served they hold thousands of objects,
    which the collector would look at again and again: a tenth of what a create costs."""
    gc.set_threshold(*GARBAGE_THRESHOLDS)


async def _apiserver(config: Config, say: Say) -> None:
    stop = stop_asked()
    async with serving(config, say) as server:
        with LoopWatch() as watch:
            server.parts.metrics.add(watch)
            await stop.wait()


async def _everything(config: Config, say: Say) -> None:
    """The roles come to rest before the server that they write to does."""
    stop = stop_asked()
    async with serving(config, say) as server:
        with ExitStack() as held:
            root = await in_thread(held.enter_context, node_root(config))
            driver = await in_thread(held.enter_context, bundled(config, root))
            await _run_roles(stop, server, await build_roles(config, server, root, driver))


async def _run_roles(stop: asyncio.Event, server: Running, roles: Sequence[Role]) -> None:
    counted = [collector for role in roles for collector in role.collectors()]
    for role in roles:
        told = role.troubles if isinstance(role, Troubled) else str
        server.parts.health.add_role(role.name, told)
    with LoopWatch() as watch:
        server.parts.metrics.add(MergedMetrics([*counted, BulkheadMetrics(bulkheads()), watch]))
        await _run_all(stop, roles)


async def _run_all(stop: asyncio.Event, roles: Sequence[Role]) -> None:
    async with sparing(roles):
        await run_until(stop, {role.name: role.run for role in roles})


@contextmanager
def node_root(config: Config) -> "Iterator[NodeRoot | None]":
    """The root directory of this process's node; None when there is to be none."""
    if not config.node_name:
        yield None
        return
    from mooring.host.mount import Mounts
    from mooring.node.home import take_home
    from mooring.node.root import held_root

    home = take_home(config.data_dir, Mounts(), config.root_dir)
    with held_root(config.node_name, home) as root:
        yield root


@contextmanager
def bundled(config: Config, root: "NodeRoot | None") -> "Iterator[Bundled | None]":
    """The bundled driver; None where nothing can be mounted."""
    if root is None or root.cannot:
        yield None
        return
    from mooring.driver.role import bundled_driver

    with bundled_driver(config.node_name, config.driver_state, root.layout) as driver:
        yield driver


async def build_roles(
    config: Config,
    server: Running,
    root: "NodeRoot | None" = None,
    driver: "Bundled | None" = None,
) -> Sequence[Role]:
    """All roles of one process. What somebody runs in another process waits here for its lease."""
    # Not at the top: these take 0.2 s, and by now the server answers already.
    from mooring.controllers import role as controllers
    from mooring.controllers.options import Options
    from mooring.plugins.host_path.volumes import DataDirectoryVolumes
    from mooring.reconcile.elected import Candidate, ElectedRole
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
    options = Options(host_path)
    identity = _identity(server)
    informers = SharedInformers(_client_of(server, CONTROLLERS), clock, rng)

    def elected(name: str, user: User, build: "Build") -> Role:
        client = _client_of(server, user)
        return ElectedRole(name, Candidate(client, clock, rng, identity, informers), build)

    roles: list[Role] = [
        informers,
        elected(controllers.NAME, CONTROLLERS, lambda loops: controllers.build(loops, options)),
        elected(scheduling.NAME, SCHEDULER, scheduling.build),
    ]
    if root is not None:
        from mooring.reconcile.lease import BESIDE_THE_SERVER
        from mooring.reconcile.loops import Loops
        from mooring.sidecars.options import SidecarOptions
        from mooring.sidecars.role import Leases, SidecarsRole

        node = await _build_node(config, server, root, ours)
        client = _client_of(server, SIDECARS)
        loops = Loops(SidecarsRole.name, client, clock, rng, informers)
        leases = Leases(SIDECAR_LEASES, identity, BESIDE_THE_SERVER)
        sidecars = SidecarsRole(loops, SidecarOptions(), leases)
        node.drivers.on_come(lambda name: sidecars.add(name, node.drivers.get(name).endpoint))
        node.drivers.on_go(sidecars.remove)
        roles += (node, sidecars)
    if driver is not None:
        from mooring.driver.role import DriverRole

        roles.append(DriverRole(_client_of(server, SIDECARS), clock, driver))
    return roles


async def _build_node(
    config: Config, server: Running, root: "NodeRoot", hidden: tuple[Path, ...]
) -> "NodeRole":
    await in_thread(_load_node)
    from mooring.node import role
    from mooring.node.options import NodeOptions
    from mooring.reconcile.loops import Loops

    options = NodeOptions(
        config.node_name,
        host_rootfs=config.host_rootfs,
        hidden=hidden,
        authority=server.pki.ca_certificate,
        api_server=reachable(server).url,
        seccomp_default=config.seccomp_default,
        allowed_unsafe_sysctls=config.allowed_unsafe_sysctls,
    )
    client = _client_of_node(server, config.node_name)
    loops = Loops(role.NAME, client, RealClock(), random.SystemRandom())
    return role.build(loops, root, options, await role.read_machine(root))


def _load_node() -> None:
    """In a thread: it takes half a second, and the server answers requests meanwhile."""
    import mooring.node.role  # noqa: F401


def _identity(server: Running) -> str:
    """The same in every life of a data directory, and of no other."""
    found = server.parts.backend.objects.find("namespaces", "", "kube-system")
    uid = found["metadata"]["uid"] if found else uuid.uuid4()  # a disk that was never written to
    return f"mooring-up_{uid}"


def _client_of(server: Running, user: User) -> LocalClient:
    return LocalClient(InProcessApi(server.parts.backend, user))


def _client_of_node(server: Running, name: str) -> LocalClient:
    """With no more rights than a node on another machine has."""
    parts = server.parts
    access = parts.access
    api = InProcessApi(
        parts.backend, node_user(name), access.part_verbs, access.check, access.review_verbs
    )
    return LocalClient(api)


@asynccontextmanager
async def serving(config: Config, say: Say) -> AsyncIterator[Running]:
    """An API server that answers, and `say` was told."""
    address = Address(config.host, config.port)
    await in_thread(check_data_dir, config.data_dir)
    async with running(config.data_dir, address, RealClock(), config.names) as server:
        written = write_kubeconfigs(config, server)
        say(f"mooring is ready at {server.address.url} (kubectl --kubeconfig {written})")
        yield server


def reachable(server: Running) -> Address:
    """Where programs on this machine find it."""
    unspecified = server.address.host in ("0.0.0.0", "::")  # noqa: S104  compared, not bound
    return Address(LOOPBACK if unspecified else server.address.host, server.address.port)


def write_kubeconfigs(config: Config, server: Running) -> str:
    """The admin's kubeconfig, in the data directory and wherever else it was asked for."""
    kubeconfig = Kubeconfig(
        reachable(server).url,
        server.pki.ca_certificate,
        server.tokens.token(ADMIN),
    )
    paths = [config.own_kubeconfig]
    if config.kubeconfig is not None:
        paths.append(config.kubeconfig)
    for path in paths:
        keep_kubeconfig(kubeconfig, path)
    return str(paths[-1])
