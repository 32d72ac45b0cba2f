"""The roles of `mooring up`: each is built with a client of its own rights, beside the server."""

import asyncio
import os
import random
import tempfile
import uuid
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS, SCHEDULER, SIDECARS, User, node_user
from mooring.apiserver.server import Running
from mooring.client.local import LocalClient
from mooring.clock import Clock, RealClock
from mooring.errors import UsageError
from mooring.host.blocking import in_thread
from mooring.host.private_file import make_private_directory
from mooring.model.keys import Key
from mooring.reconcile.role import Role
from mooring.stack.config import LOOPBACK, Config
from mooring.stack.listening import reachable

if TYPE_CHECKING:
    from mooring.driver.role import Bundled, NoDriver
    from mooring.node.role import NodeRole
    from mooring.node.root import NodeRoot
    from mooring.reconcile.elected import Build
    from mooring.reconcile.loops import Loops
    from mooring.reconcile.shared_informer import SharedInformers

SIDECAR_LEASES = "default"  # the namespace, as for `mooring sidecar` outside of a pod


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
    hidden = () if root is None else (root.layout.root,)
    elected = await build_elected(config, server, RealClock(), hidden)
    roles = list(elected.roles)
    limits: tuple[str, ...] = ()
    if root is not None:
        from mooring.stack.limits import driver_limits

        ours = (config.data_dir.resolve(), *hidden)
        node, limits = await _build_node(config, server, root, ours)
        identity = _identity(server)
        roles += (node, _build_sidecars(config, server, node, identity, elected.informers))
        roles.append(_build_storage(config, server, driver))
        roles += _build_metadata(config, server, driver, elected.informers)
        limits += await in_thread(driver_limits, driver)
    return Built(roles, limits)


class Elected(msgspec.Struct, frozen=True):
    roles: Sequence[Role]
    informers: "SharedInformers"  # one of the roles, which others may share


async def build_elected(
    config: Config,
    server: Running,
    clock: Clock,
    hidden: tuple[Path, ...] = (),
    chosen: Collection[str] | None = None,
) -> Elected:
    """Controllers and scheduler, and the informers that they share.

    `chosen` are the controllers by name, and `scheduler`; None: all. `hidden` are directories that
    no host-path volume may be in, besides the data directory.
    """
    # Not at the top: these imports take 0.2 s, and the server answers meanwhile.
    from mooring.controllers import role as controllers
    from mooring.controllers.node_lifecycle.view import Monitoring
    from mooring.controllers.options import Options, recycling_for
    from mooring.controllers.snapshots.options import SNAPSHOT_LEASE, SnapshotLease, SnapshotOptions
    from mooring.plugins.flex.drivers import Drivers
    from mooring.plugins.host_path.volumes import DataDirectoryVolumes
    from mooring.reconcile.elected import LEASES, Candidate, ElectedRole
    from mooring.reconcile.lease import BESIDE_THE_SERVER
    from mooring.reconcile.shared_informer import SharedInformers
    from mooring.scheduling import role as scheduling

    rng = random.SystemRandom()
    try:
        await in_thread(make_private_directory, config.volumes)
    except OSError as error:
        raise UsageError(f"cannot make {config.volumes}: {error.strerror}") from error
    temporary = Path(tempfile.gettempdir())
    ours = (config.data_dir.resolve(), *hidden)
    host_path = DataDirectoryVolumes(config.volumes, ours, temporary)
    identity = _identity(server)
    lease = SnapshotLease(Key(LEASES, SNAPSHOT_LEASE), identity, BESIDE_THE_SERVER)
    options = Options(
        host_path,
        recycling_for(host_rootfs=config.host_rootfs),
        monitoring=Monitoring(grace=config.node_monitor_grace),
        snapshots=SnapshotOptions(lease=lease, is_distributed=config.snapshots_distributed),
        release=config.release,
        flex=Drivers(config.volume_plugin_dir, clock),
    )
    informers = SharedInformers(client_of(server, CONTROLLERS), clock, rng)

    def elected(name: str, user: User, build: "Build") -> Role:
        client = client_of(server, user)
        return ElectedRole(name, Candidate(client, clock, rng, identity, informers), build)

    wanted = [name for name in controllers.CONTROLLERS if chosen is None or name in chosen]

    def build_controllers(loops: "Loops") -> "Loops":
        return controllers.build(loops, options, wanted)

    roles: list[Role] = [informers]
    if wanted:
        roles.append(elected(controllers.NAME, CONTROLLERS, build_controllers))
    if chosen is None or scheduling.NAME in chosen:
        build_scheduler = partial(scheduling.build, release=config.release)
        roles.append(elected(scheduling.NAME, SCHEDULER, build_scheduler))
    return Elected(roles, informers)


def _build_sidecars(
    config: Config,
    server: Running,
    node: "NodeRole",
    identity: str,
    informers: "SharedInformers",
) -> Role:
    """For every driver that registers with the node."""
    from mooring.driver.settings import NAME as BUNDLED
    from mooring.reconcile.lease import BESIDE_THE_SERVER
    from mooring.reconcile.loops import Loops
    from mooring.sidecars.driver_flags import parse_flags
    from mooring.sidecars.options import SidecarOptions
    from mooring.sidecars.role import SIDECARS as ALL
    from mooring.sidecars.role import Leases, SidecarsRole
    from mooring.stack.driver_sidecars import serve_drivers

    client = client_of(server, SIDECARS)
    loops = Loops(SidecarsRole.name, client, RealClock(), random.SystemRandom(), informers)
    # Any user of a namespace may make leases there: ours has no other sidecars to yield to.
    alone_for = frozenset((BUNDLED,))
    leases = Leases(SIDECAR_LEASES, identity, BESIDE_THE_SERVER, yields=True, alone_for=alone_for)
    default = SidecarOptions().with_gates(config.gates)
    by_driver = parse_flags(config.sidecar_flags, default)
    sidecars = SidecarsRole(loops, default, leases, ALL, by_driver)
    serve_drivers(node.drivers, sidecars, config.no_sidecars_for)
    return sidecars


def _build_storage(config: Config, server: Running, driver: "Bundled | NoDriver | None") -> Role:
    """The volumes of a claim that names no class."""
    from mooring.driver.role import Bundled, DriverRole
    from mooring.stack.default_class import DefaultClassRole

    if isinstance(driver, Bundled):
        return DriverRole(client_of(server, SIDECARS), RealClock(), driver)
    return DefaultClassRole(client_of(server, CONTROLLERS), RealClock(), config.volumes)


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
    from mooring.node.names.options import DnsOptions
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
        api_server=reachable(server.address).url,
        pull_images=config.pull_images,
        images=config.images,
        seccomp_default=config.seccomp_default,
        allowed_unsafe_sysctls=config.allowed_unsafe_sysctls,
        volume_plugin_dir=config.volume_plugin_dir,
        dns=DnsOptions(config.cluster_dns, config.cluster_domain, config.resolv_conf),
        volume_stats_period=config.volume_stats_period,
        release=config.release,
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


def client_of(server: Running, user: User) -> LocalClient:
    return LocalClient(InProcessApi(server.parts.backend, user))


def _client_of_node(server: Running, name: str) -> LocalClient:
    """A client with the rights of this node only, as of a node on another machine."""
    parts = server.parts
    access = parts.access
    api = InProcessApi(
        parts.backend, node_user(name), access.part_verbs, access.check, access.review_verbs
    )
    return LocalClient(api)
