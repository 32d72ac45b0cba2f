"""`mooring sidecar`: the sidecars between a CSI driver and a Kubernetes API server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.flags import (
    Format,
    Gates,
    Kubeconfig,
    LeaderElect,
    Level,
    LogFormat,
    LogLevel,
    MetricsAddress,
)
from mooring.cli.say import say
from mooring.errors import UsageError

if TYPE_CHECKING:
    from mooring.csi.serve_tls import TlsFiles
    from mooring.sidecars.snapshotter.options import NamePattern

SERVED = ("provisioner", "attacher", "resizer", "snapshotter", "health-monitor")
ALL = "all"
RBAC = "rbac"
REGISTRAR = "registrar"
RELEASE = "release"
SNAPSHOT_METADATA = "snapshot-metadata"


Roles = Annotated[
    list[str],
    typer.Argument(
        help=f"{', '.join(SERVED)} (some, or {ALL}), {SNAPSHOT_METADATA}, {REGISTRAR}, {RELEASE}, "
        f"or {RBAC}."
    ),
]
CsiAddress = Annotated[
    list[str],
    typer.Option(
        help="The driver's socket (repeatable: several drivers).",
        default_factory=list,
        show_default=False,
    ),
]
LeaseNamespace = Annotated[
    str,
    typer.Option(
        help="Where leases are; those of external-provisioner have their names.",
        show_default="the pod's, or the kubeconfig's",
    ),
]
CapacityNamespace = Annotated[str, typer.Option(help="Where CSIStorageCapacity objects go.")]
Timeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds that a driver may take to make, grow, change or delete something.",
        show_default="10 for volumes, 60 for snapshots",
    ),
]
StrictTopology = Annotated[
    bool, typer.Option(help="Late binding: tell drivers the chosen node's place alone.")
]
ImmediateTopology = Annotated[
    bool, typer.Option(help="Immediate binding: tell drivers of all places.")
]
ExtraMetadata = Annotated[
    bool,
    typer.Option(help="Tell drivers the names of claim and volume, of snapshot and content."),
]
SnapshotPrefix = Annotated[str, typer.Option(help="How the names of snapshots begin.")]
GroupPrefix = Annotated[str, typer.Option(help="How the names of group snapshots begin.")]
UidLength = Annotated[
    int,
    typer.Option(
        help="Characters of the uid in such a name; negative: all of it, with its dashes."
    ),
]
NodeDeployment = Annotated[
    bool,
    typer.Option(
        help="Run on each node, beside a driver that reaches the volumes of $NODE_NAME alone, and "
        "serve these. Takes no lease. Snapshots have to be labelled with their nodes "
        "(--enable-distributed-snapshotting of mooring controllers and mooring up).",
    ),
]
NodeDeploymentImmediate = Annotated[
    bool,
    typer.Option(help="With it, make also volumes of claims for which no pod chose a node."),
]
NodeDeploymentBase = Annotated[
    float,
    typer.Option(
        help="Seconds before a node takes such a claim at most; doubled each time it cannot.",
        min=0,
    ),
]
NodeDeploymentMax = Annotated[
    float, typer.Option(help="Seconds that they are doubled to at most.", min=0)
]
Granted = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        envvar="MOORING_SIDECAR_FOR",
        help="rbac: the sidecars that need it (repeatable).",
        show_default=ALL,
    ),
]
AccountNamespace = Annotated[str, typer.Option(help="rbac: where the ServiceAccount is.")]
DefaultFsType = Annotated[str, typer.Option(help="File system of volumes whose class names none.")]
PublishReadonly = Annotated[
    bool, typer.Option(help="Attach volumes read-only whose claims say ReadOnlyMany alone.")
]
HttpEndpoint = Annotated[
    str,
    typer.Option(
        help="host:port of /healthz (all drivers), /healthz/DRIVER and /metrics; :PORT: everywhere."
    ),
]
HandleInUse = Annotated[
    bool,
    typer.Option(help="resizer: a volume that cannot grow in use waits until its pods have ended."),
]
ExtraModifyMetadata = Annotated[
    bool, typer.Option(help="resizer: tell drivers the names of claim and volume in a change.")
]
Workers = Annotated[int, typer.Option(help="resizer: claims of a driver that grow at once.", min=1)]
RetryStart = Annotated[
    float, typer.Option(help="resizer: seconds before the first retry; doubled each time.", min=0.1)
]
RetryMax = Annotated[
    float,
    typer.Option(help="resizer: seconds before a retry at most, and of what is impossible.", min=1),
]
RegistrationPath = Annotated[
    Path, typer.Option(help="registrar: the directory that the node agent watches.")
]
SeenPath = Annotated[
    str, typer.Option(help="registrar: the driver's socket, as the node agent finds it.")
]
ReleasedDriver = Annotated[
    str, typer.Option(help="release: only claims that this driver was asked about.")
]
DryRun = Annotated[bool, typer.Option(help="release: only tell what would be done.")]
Abandon = Annotated[
    bool,
    typer.Option(help="release: let go also of claims that may leave a volume behind."),
]
ServicePort = Annotated[
    int,
    typer.Option(help="snapshot-metadata: where it listens; 0: a free one.", min=0, max=65535),
]
TlsCert = Annotated[
    Path | None,
    typer.Option(
        help="snapshot-metadata: its certificate, PEM; a renewed one is used at once.",
        show_default="$TLS_CERT_PATH",
    ),
]
TlsKey = Annotated[
    Path | None,
    typer.Option(
        help="snapshot-metadata: the key of its certificate, PEM.",
        show_default="$TLS_KEY_PATH",
    ),
]
Audience = Annotated[
    str,
    typer.Option(
        help="snapshot-metadata: of the tokens that it takes.",
        show_default="as its SnapshotMetadataService says",
    ),
]
MostMinutes = Annotated[
    int, typer.Option(help="snapshot-metadata: how long one call may last.", min=1)
]


def sidecar(  # noqa: PLR0913, PLR0917  one argument per flag
    roles: Roles,
    csi_address: CsiAddress,
    kubeconfig: Kubeconfig = None,
    leader_elect: LeaderElect = True,  # noqa: FBT002  a flag of the command line
    leader_election_namespace: LeaseNamespace = "",
    capacity_namespace: CapacityNamespace = "kube-system",
    timeout: Timeout = None,
    strict_topology: StrictTopology = False,  # noqa: FBT002  likewise
    immediate_topology: ImmediateTopology = True,  # noqa: FBT002  likewise
    extra_create_metadata: ExtraMetadata = False,  # noqa: FBT002  likewise
    default_fstype: DefaultFsType = "",
    controller_publish_readonly: PublishReadonly = False,  # noqa: FBT002  likewise
    feature_gates: Gates = "",
    handle_volume_inuse_error: HandleInUse = True,  # noqa: FBT002  likewise
    extra_modify_metadata: ExtraModifyMetadata = False,  # noqa: FBT002  likewise
    workers: Workers = 10,
    retry_interval_start: RetryStart = 1.0,
    retry_interval_max: RetryMax = 300.0,
    snapshot_name_prefix: SnapshotPrefix = "snapshot",
    snapshot_name_uuid_length: UidLength = -1,
    groupsnapshot_name_prefix: GroupPrefix = "groupsnapshot",
    groupsnapshot_name_uuid_length: UidLength = -1,
    node_deployment: NodeDeployment = False,  # noqa: FBT002  likewise
    node_deployment_immediate_binding: NodeDeploymentImmediate = True,  # noqa: FBT002  likewise
    node_deployment_base_delay: NodeDeploymentBase = 20.0,
    node_deployment_max_delay: NodeDeploymentMax = 60.0,
    granted: Granted = None,
    namespace: AccountNamespace = "default",
    plugin_registration_path: RegistrationPath = Path("/registration"),
    kubelet_registration_path: SeenPath = "",
    driver: ReleasedDriver = "",
    dry_run: DryRun = False,  # noqa: FBT002  likewise
    abandon: Abandon = False,  # noqa: FBT002  likewise
    port: ServicePort = 50051,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    audience: Audience = "",
    max_streaming_duration_min: MostMinutes = 10,
    http_endpoint: HttpEndpoint = "",
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Serve CSI drivers: make, grow and delete volumes, attach them, take snapshots, register.

    `mooring up` does this by itself for every driver that registers: this is for real clusters,
    where it takes the place of external-provisioner, -attacher, -resizer and -health-monitor, of
    csi-snapshotter and of node-driver-registrar. `all` is every sidecar that a driver's
    capabilities ask for. Each has the lease of upstream's, so one by one can take over from it, and
    hand back.
    `snapshot-metadata` is external-snapshot-metadata: it tells backup programs which blocks have
    changed between two snapshots, and needs a certificate; it takes no lease, every replica serves.
    `release` takes Mooring's finalizer off claims that need it no longer, before an uninstall.
    `rbac` prints the ServiceAccount, ClusterRole and binding that the sidecars need.

    Example: mooring sidecar all --csi-address /run/csi/socket
    """
    import os

    from mooring import log
    from mooring.client.kubeconfig import Surroundings
    from mooring.clock import RealClock
    from mooring.model.feature_gates import parse_gates
    from mooring.sidecars.lease_namespace import find_lease_namespace
    from mooring.sidecars.options import SidecarOptions
    from mooring.sidecars.provisioner.options import Delays, ProvisionerOptions
    from mooring.sidecars.provisioner.release import Release
    from mooring.sidecars.resizer.options import ResizerOptions
    from mooring.sidecars.role import Leases
    from mooring.sidecars.snapshot_metadata.calls import CHECK_SECONDS, Limits
    from mooring.sidecars.snapshot_metadata.run import MetadataOptions, Place
    from mooring.sidecars.snapshotter.options import SnapshotterOptions
    from mooring.stack.sidecar_rbac import rbac_yaml
    from mooring.stack.standalone import (
        Standalone,
        run_registrar,
        run_release,
        run_sidecars,
        run_snapshot_metadata,
    )

    _check(roles, csi_address)
    if roles == [RBAC]:
        typer.echo(rbac_yaml(_granted(granted or [ALL]), namespace))
        return
    log.to_stderr(log_level, log_format)
    if roles == [RELEASE]:
        run_release(kubeconfig, Release(driver, dry_run, abandon), typer.echo)
        return
    if roles == [REGISTRAR]:
        seen_as = kubelet_registration_path or csi_address[0]
        run_registrar(csi_address[0], plugin_registration_path, seen_as, say)
        return
    if http_endpoint.startswith(":"):
        http_endpoint = f"0.0.0.0{http_endpoint}"  # noqa: S104  as upstream's flag of this name
    wanted = Standalone(kubeconfig, leader_elect, http_endpoint or metrics_address)
    if roles == [SNAPSHOT_METADATA]:
        limits = Limits(max_streaming_duration_min * 60.0, timeout or CHECK_SECONDS)
        options = MetadataOptions(audience, limits)
        place = Place("::", port, _tls_files(tls_cert, tls_key))
        run_snapshot_metadata(wanted, say, csi_address[0], place, options)
        return
    leases, node = "", _own_node() if node_deployment else ""
    if leader_elect and not node:
        around = Surroundings(os.environ, RealClock())
        leases = find_lease_namespace(leader_election_namespace, kubeconfig, around)
    served = SidecarOptions(
        ProvisionerOptions(
            strict_topology=strict_topology,
            immediate_topology=immediate_topology,
            default_fs_type=default_fstype,
            controller_publish_readonly=controller_publish_readonly,
            takes_immediate=node_deployment_immediate_binding,
            turns=Delays(node_deployment_base_delay, node_deployment_max_delay),
        ),
        capacity_namespace,
        snapshotter=SnapshotterOptions(
            names=_pattern(snapshot_name_prefix, snapshot_name_uuid_length),
            group_names=_pattern(groupsnapshot_name_prefix, groupsnapshot_name_uuid_length),
        ),
        node=node,
        resizer=ResizerOptions(
            workers=workers,
            retry_seconds=retry_interval_start,
            retry_cap_seconds=retry_interval_max,
            handle_in_use=handle_volume_inuse_error,
            extra_modify_metadata=extra_modify_metadata,
        ),
    ).with_extra_metadata(on=extra_create_metadata)
    served = served.with_gates(parse_gates(feature_gates))
    if timeout is not None:
        served = served.with_timeout(timeout)
    run_sidecars(wanted, say, served, Leases(leases), _chosen(roles), csi_address)


def _own_node() -> str:
    """The node that `--node-deployment` is about. Raises: UsageError."""
    import os

    from mooring.model.names import label_value

    node = os.environ.get("NODE_NAME", "")
    if not node or any(label_value(node)):
        raise UsageError("--node-deployment: set NODE_NAME to the name of this node")
    return node


def _pattern(prefix: str, uid_length: int) -> "NamePattern":
    """Raises: UsageError."""
    from mooring.sidecars.snapshotter.options import NamePattern

    if not prefix:
        raise UsageError("a name prefix must not be empty: names would not be told apart")
    return NamePattern(prefix, uid_length)


def _chosen(roles: list[str]) -> list[str]:
    """Raises: UsageError."""
    for role in roles:
        if role not in (*SERVED, ALL):
            known = ", ".join((*SERVED, ALL))
            raise UsageError(f"there is no sidecar {role!r}; choose {known}")
    return sorted(SERVED if ALL in roles else set(roles))


def _granted(names: list[str]) -> list[str]:
    """Raises: UsageError."""
    others = [name for name in names if name != SNAPSHOT_METADATA]
    also = [SNAPSHOT_METADATA] if ALL in names or SNAPSHOT_METADATA in names else []
    return [*_chosen(others), *also]


def _tls_files(certificate: Path | None, key: Path | None) -> "TlsFiles":
    """Those, or what upstream's variables name. Raises: UsageError."""
    import os

    from mooring.csi.serve_tls import TlsFiles

    chosen = certificate or os.environ.get("TLS_CERT_PATH"), key or os.environ.get("TLS_KEY_PATH")
    if not chosen[0] or not chosen[1]:
        raise UsageError(
            "snapshot-metadata is served with TLS only: give --tls-cert and --tls-key, in PEM"
        )
    return TlsFiles(Path(chosen[0]), Path(chosen[1]))


def _check(roles: list[str], addresses: list[str]) -> None:
    """Raises: UsageError."""
    for alone in (RELEASE, RBAC):
        if alone in roles:
            if len(roles) > 1 or addresses:
                raise UsageError(f"{alone} runs alone, and talks to no driver")
            return
    for role in roles:
        if role not in (*SERVED, ALL, SNAPSHOT_METADATA, REGISTRAR):
            known = ", ".join((*SERVED, ALL, SNAPSHOT_METADATA, REGISTRAR, RELEASE, RBAC))
            raise UsageError(f"there is no sidecar {role!r}; choose one of {known}")
    if not addresses:
        raise UsageError("give --csi-address, the socket of a driver")
    for address in addresses:
        _check_length(address)
    for alone in (REGISTRAR, SNAPSHOT_METADATA):
        if alone in roles and (len(roles) > 1 or len(addresses) > 1):
            raise UsageError(f"{alone} runs alone, for one driver: give it a process of its own")


def _check_length(address: str) -> None:
    """Raises: UsageError: gRPC would look for it for ever."""
    import os

    from mooring.csi.serve import LONGEST_PATH

    if len(os.fsencode(address.removeprefix("unix:").removeprefix("//"))) > LONGEST_PATH:
        at_most = f"at most {LONGEST_PATH} bytes work"
        raise UsageError(f"--csi-address {address} is too long for a socket: {at_most}; link to it")
