"""A role in a process of its own, against any Kubernetes API server, with leader election."""

import asyncio
import os
import random
import shlex
import socket
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import uvloop
from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.registry import Collector

from mooring import log
from mooring.client.connect import connect
from mooring.client.contract import Client
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.clock import RealClock
from mooring.csi.call_query import PATH as CALLS_PATH
from mooring.errors import UsageError
from mooring.host.blocking import bulkheads, in_thread
from mooring.host.bulkhead_metrics import BulkheadMetrics
from mooring.host.loop_watch import LoopWatch
from mooring.model.keys import Key
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.reconcile.elected import lease_of, log_leader
from mooring.reconcile.leadership import FencedClient
from mooring.reconcile.lease import TERMS, LeaderCallbacks, LeaderElection
from mooring.reconcile.loops import Loops
from mooring.reconcile.poison import POISONED
from mooring.reconcile.role import Role
from mooring.stack.config import default_data_dir, get_node_name
from mooring.stack.frozen_caches import gc_frozen
from mooring.stack.metrics_page import AskAlive, Handler, Say, always_alive, metrics_served
from mooring.stack.otlp import is_configured
from mooring.stack.process import run_until, stop_event
from mooring.stack.reviewed import Reviewed
from mooring.stack.server_version import release_of, version_compared

if TYPE_CHECKING:
    from mooring.controllers.attachment.view import Policy
    from mooring.controllers.node_lifecycle.view import Monitoring
    from mooring.controllers.options import Recycling  # other roles do not load the controllers
    from mooring.controllers.snapshots.options import SnapshotOptions
    from mooring.driver.disks import Disk
    from mooring.driver.settings import DriverSettings
    from mooring.node.options import NodeOptions
    from mooring.sidecars.options import SidecarOptions
    from mooring.sidecars.provisioner.release import Release
    from mooring.sidecars.role import Leases
    from mooring.sidecars.snapshot_metadata.run import MetadataOptions, Place
    from mooring.stack.join import JoinWish
    from mooring.stack.span_export import Run

Build = Callable[[Loops, KubernetesVersion], Awaitable[Role]]

EXIT_LOST = 1
WAITING_SECONDS = 0.5  # without a driver, before the registrar says so
CANNOT_MOUNT = (
    "this node may not mount: pods get only volumes that are plain directories; "
    "run it as root to give them all"
)

_log = log.get("mooring.stack")


class Standalone(msgspec.Struct, frozen=True):
    """The options that all standalone roles share."""

    kubeconfig: Path | None = None
    leader_elect: bool = True
    metrics_address: str = ""  # empty: no metrics page
    release: KubernetesVersion | None = None  # None: that of the server


class StandaloneRole(msgspec.Struct, frozen=True):
    """A role under leader election; its lease is `mooring-<name>`."""

    name: str
    greeting: str  # printed when it leads
    build: Build
    ask_alive: AskAlive = always_alive  # for /healthz
    calls_drivers: bool = False  # and shows its CSI calls
    follows_release: bool = False  # of Kubernetes


class Cluster(msgspec.Struct, frozen=True):
    """How controllers treat the cluster."""

    chosen: tuple[str, ...]  # controllers
    recycling: "Recycling"
    detaching: "Policy"
    monitoring: "Monitoring"
    snapshots: "SnapshotOptions"
    flex_volume_plugin_dir: Path


def run_controllers(
    wanted: Standalone, say: Say, cluster: Cluster, *, makes_host_paths: bool
) -> None:
    """The chosen ones; `makes_host_paths`: volumes in this machine's temporary directory."""
    from mooring.controllers import role
    from mooring.controllers.options import Options
    from mooring.plugins.flex.drivers import Drivers
    from mooring.plugins.host_path.provision import HostPathProvisioning
    from mooring.plugins.host_path.volumes import HostPathPlugin

    mode = HostPathProvisioning.ON if makes_host_paths else HostPathProvisioning.OFF
    host_path = HostPathPlugin(Path(tempfile.gettempdir()), mode)
    options = Options(
        host_path,
        cluster.recycling,
        cluster.detaching,
        cluster.monitoring,
        snapshots=cluster.snapshots,
        flex=Drivers(cluster.flex_volume_plugin_dir, RealClock()),
    )

    async def build(loops: Loops, release: KubernetesVersion) -> Role:
        following = msgspec.structs.replace(options, release=release)
        return role.build(loops, following, cluster.chosen)

    greeting = "mooring controllers are running"
    run_standalone(StandaloneRole(role.NAME, greeting, build, follows_release=True), wanted, say)


def run_scheduler(wanted: Standalone, say: Say, scheduler_name: str) -> None:
    """The scheduler of pods with this `schedulerName`."""
    from mooring.scheduling import role

    async def build(loops: Loops, release: KubernetesVersion) -> Role:
        return role.build(loops, scheduler_name, release)

    greeting = "mooring scheduler is running"
    run_standalone(StandaloneRole(role.NAME, greeting, build, follows_release=True), wanted, say)


def run_node(
    wanted: Standalone, say: Say, root_dir: Path | None, options: "NodeOptions", wish: "JoinWish"
) -> None:
    """This machine as a node, with its pods' volumes below `root_dir`.

    None: the root directory of `mooring up` with the default data directory. The node's name and
    its credentials are those of the join, if it has joined.
    """
    from mooring.host.mount import Mounts
    from mooring.node import role
    from mooring.node.home import take_home
    from mooring.node.instance import find_instance
    from mooring.node.root import held_root
    from mooring.node.status.claim import claim_name
    from mooring.node.status.heartbeat import Holding
    from mooring.upkeep.running import tell_of_root

    home = root_dir or take_home(default_data_dir(), Mounts())
    with held_root(home) as root:
        wanted, name = joined_as(root.layout.root, wanted, wish)
        endpoint = find_endpoint(wanted.kubeconfig, Surroundings(os.environ, RealClock()))
        instance = find_instance(root.layout.root)
        options = msgspec.structs.replace(
            options,
            name=name,
            holding=Holding(instance),
            authority=endpoint.trust.authority,
            api_server=endpoint.server,
        )
        if root.cannot:
            _log.warning(CANNOT_MOUNT, node=name, because=root.cannot)

        async def build(loops: Loops, release: KubernetesVersion) -> Role:
            following = msgspec.structs.replace(options, release=release)
            await claim_name(loops.client, loops.clock, name, instance)
            return role.build(loops, root, following, await role.read_machine(root))

        greeting = f"mooring node {options.name} is running"
        candidate = StandaloneRole(
            role.NAME, greeting, build, calls_drivers=True, follows_release=True
        )
        run_standalone(candidate, wanted, say)
        remedy = "mooring down" + (f" --root-dir {shlex.quote(str(root_dir))}" if root_dir else "")
        if line := tell_of_root(root.layout.root, remedy):
            say(line)


def joined_as(root: Path, wanted: Standalone, wish: "JoinWish") -> tuple[Standalone, str]:
    """With which kubeconfig, and under which name, this root directory is a node.

    Raises: UsageError.
    """
    from mooring.stack.join import KUBECONFIG, join

    if wanted.kubeconfig is not None:
        if wish.server or wish.token:
            raise UsageError("--join and --kubeconfig say two things: give one of them")
        return wanted, get_node_name(wish.node_name)
    joined = join(root, wish)
    if joined is None:
        return wanted, get_node_name(wish.node_name)
    if wish.node_name not in ("", joined.node):
        raise UsageError(
            f"{root} has joined {joined.server} as the node {joined.node}: leave --node-name out, "
            f"or join as {wish.node_name} with another --root-dir"
        )
    return msgspec.structs.replace(wanted, kubeconfig=root / KUBECONFIG), joined.node


def run_sidecars(
    wanted: Standalone,
    say: Say,
    options: "SidecarOptions",
    leases: "Leases",
    sidecars: Sequence[str],
    endpoints: Sequence[str],
) -> None:
    """The sidecars of the drivers at these sockets. Leases are per driver and sidecar."""
    from mooring.sidecars import role
    from mooring.sidecars.liveness import Liveness

    async def build(loops: Loops, _: KubernetesVersion) -> Role:
        made = role.SidecarsRole(loops, options, leases, sidecars)
        for endpoint in endpoints:
            made.add_unnamed(endpoint)
        return made

    alive = Liveness(endpoints)
    greeting = f"mooring sidecar is running: {', '.join(sorted(sidecars))}"
    candidate = StandaloneRole(role.NAME, greeting, build, alive.ask, calls_drivers=True)
    run_standalone(candidate, msgspec.structs.replace(wanted, leader_elect=False), say)


def run_snapshot_metadata(
    wanted: Standalone, say: Say, endpoint: str, place: "Place", options: "MetadataOptions"
) -> None:
    """The changed blocks of the driver at this socket, for backup programs; without a lease."""
    from mooring.sidecars.liveness import Liveness
    from mooring.sidecars.snapshot_metadata import run

    async def build(loops: Loops, _: KubernetesVersion) -> Role:
        return run.SnapshotMetadataRole(loops, endpoint, place, options)

    greeting = f"mooring sidecar {run.NAME} is running"
    alive = Liveness([endpoint])
    candidate = StandaloneRole(run.NAME, greeting, build, alive.ask, calls_drivers=True)
    run_standalone(candidate, msgspec.structs.replace(wanted, leader_elect=False), say)


def run_registrar(csi_address: str, directory: Path, seen_as: str, say: Say) -> None:
    """Register the driver at `csi_address` with the kubelet that watches `directory`.

    `seen_as` is the path of the driver's socket for the kubelet. Raises: RoleDied when the kubelet
    refuses the registration.
    """
    from mooring.csi import registrar
    from mooring.csi.channel import Connection
    from mooring.sidecars.driver_connection import DriverConnection

    async def offer() -> None:
        async with Connection(csi_address) as connection, asyncio.TaskGroup() as tasks:
            ready = tasks.create_task(DriverConnection(connection, RealClock()).wait_named())
            done, _ = await asyncio.wait([ready], timeout=WAITING_SECONDS)
            if not done:
                say(f"mooring sidecar registrar is waiting for {csi_address}")
            name = await ready
        say(f"mooring sidecar registrar offers {name}")
        await registrar.run(registrar.Offer(name, seen_as, directory))

    async def run() -> None:
        await run_until(stop_event(), {"registrar": offer})

    uvloop.run(run())


def run_release(kubeconfig: Path | None, wanted: "Release", say: Say) -> None:
    """Raises: UsageError, ApiError, ConnectionLost."""
    from mooring.sidecars.provisioner.release import release

    async def run() -> None:
        async with connect(kubeconfig, RealClock()) as client:
            await release(client, wanted, say)

    uvloop.run(run())


def run_driver(
    settings: "DriverSettings", endpoint: str, disks: Sequence["Disk"], say: Say
) -> None:
    """The bundled driver, until SIGTERM or SIGINT. Raises: UsageError."""
    from mooring.driver.disks import make_disks
    from mooring.driver.role import driver_of
    from mooring.driver.serve import serving

    with driver_of(settings) as core:
        make_disks(core, disks)

        async def run() -> None:
            stop = stop_event()
            with LoopWatch():
                async with serving(core, endpoint):
                    say(f"{settings.name} is serving at {endpoint}")
                    await stop.wait()

        uvloop.run(run())


def run_standalone(candidate: StandaloneRole, wanted: Standalone, say: Say) -> None:
    """Run until SIGTERM or SIGINT; `say` prints the greeting when this process leads."""
    uvloop.run(_run(candidate, wanted, say))


async def _run(candidate: StandaloneRole, wanted: Standalone, say: Say) -> None:
    stop = stop_event()
    clock, rng = RealClock(), random.SystemRandom()
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(POISONED)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(wanted.kubeconfig, clock))
        if wanted.metrics_address:
            others = {CALLS_PATH: _calls_page(client)} if candidate.calls_drivers else {}
            page = metrics_served(
                wanted.metrics_address, registry, say, candidate.ask_alive, others
            )
            await stack.enter_async_context(page)
        if candidate.follows_release and wanted.release is not None:
            compared = version_compared(client, clock, wanted.release)
            await stack.enter_async_context(compared)

        async def release() -> KubernetesVersion:
            if wanted.release is None and candidate.follows_release:
                return await release_of(client, clock)
            return wanted.release or NEWEST

        async def lead(acting: Client = client) -> None:
            loops = Loops(candidate.name, acting, clock, rng)
            role = await candidate.build(loops, await release())
            with _counted(registry, role.collectors()):
                say(candidate.greeting)
                async with gc_frozen([role], clock):
                    await role.run()

        async def stand() -> None:
            identity = f"{socket.gethostname()}_{uuid.uuid4()}"
            lease = lease_of(candidate.name)
            waiting = partial(log_leader, candidate.name, lease)
            told = LeaderCallbacks(waiting, partial(_leave, lease))
            election = LeaderElection(client, clock, rng, lease, identity, TERMS, told)
            await election.run(lambda: lead(FencedClient(client, election.leadership)))

        with LoopWatch() as watch, _counted(registry, (watch, BulkheadMetrics(bulkheads()))):
            beside = await in_thread(_span_exports, candidate)
            run = stand if wanted.leader_elect else lead
            await run_until(stop, {candidate.name: run, **beside})


def _calls_page(client: Client) -> Handler:
    """The CSI calls of this process, for who may read them."""
    from mooring.csi.serve_calls import ServedCalls

    calls, reviewed = ServedCalls(RealClock()), Reviewed(client)

    async def serve(request: web.Request) -> web.StreamResponse:
        return await reviewed.refusal(request) or await calls.serve(request)

    return serve


def _span_exports(candidate: StandaloneRole) -> Mapping[str, "Run"]:
    if not candidate.calls_drivers or not is_configured(os.environ):
        return {}
    from mooring.stack.span_export import exports_of

    return exports_of(f"mooring-{candidate.name}")


def _leave(lease: Key) -> None:
    """Exit at once when the lease is lost, as upstream's components do: a role that does not stop
    in time must not go on beside the new leader. The service manager starts the process again."""
    _log.warning("leaving: the lease was lost, and the work does not come to rest", lease=lease)
    os._exit(EXIT_LOST)


@contextmanager
def _counted(registry: CollectorRegistry, collectors: Iterable[Collector]) -> Iterator[None]:
    """Register the collectors while this process leads; a new leadership counts from zero."""
    shown = list(collectors)
    for collector in shown:
        registry.register(collector)
    try:
        yield
    finally:
        for collector in shown:
            registry.unregister(collector)
