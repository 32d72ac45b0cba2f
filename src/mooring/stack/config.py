"""The configuration from the command line, and its defaults."""

import os
import socket
from pathlib import Path

import msgspec

from mooring.errors import UsageError
from mooring.model.feature_gates import FeatureGates
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.names import dns_subdomain, label_value
from mooring.oci.registry.settings import ImageSettings

DEFAULT_PORT = 6443
LOOPBACK = "127.0.0.1"


class EtcdSettings(msgspec.Struct, frozen=True):
    """Where an etcd is, and how it is reached."""

    servers: tuple[str, ...]  # http:// or https:// addresses
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    prefix: str = "/registry"
    compaction_interval: float = 300.0  # seconds; 0: it is left to others


class Config(msgspec.Struct, frozen=True):
    data_dir: Path
    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    names: tuple[str, ...] = ()  # further names and addresses in the server's certificate
    kubeconfig: Path | None = None  # a second path for the admin's kubeconfig
    node_name: str = ""  # of this machine as a node; empty: it is not a node
    host_rootfs: bool = False  # containers without an imported image use this machine's programs
    root_dir: Path | None = None  # of this machine as a node; None: the default
    pull_images: bool = True  # from registries
    images: ImageSettings = ImageSettings()
    seccomp_default: bool = False  # containers without a seccomp profile get RuntimeDefault
    allowed_unsafe_sysctls: tuple[str, ...] = ()  # names, or patterns that end in `*`
    volume_plugin_dir: Path = Path("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/")
    cluster_dns: tuple[str, ...] = ()  # addresses of somebody else's DNS; none: the node's own
    cluster_domain: str = "cluster.local"
    resolv_conf: Path = Path("/etc/resolv.conf")
    volume_stats_period: float = 60.0  # seconds between looks at the health of volumes
    node_monitor_grace: float = 40.0  # seconds of silence after which a node counts as lost
    snapshots_distributed: bool = False  # for snapshotters that run on each node

    etcd: EtcdSettings | None = None  # instead of the database in the data directory
    gates: FeatureGates = FeatureGates()
    release: KubernetesVersion = NEWEST  # of Kubernetes, that is followed
    no_sidecars_for: frozenset[str] = frozenset()  # drivers that bring their own
    sidecar_flags: tuple[str, ...] = ()  # DRIVER:FLAG=VALUE

    @property
    def volumes(self) -> Path:
        """The directory of volumes that the host-path provisioner makes."""
        return self.data_dir.resolve() / "volumes"

    @property
    def driver_state(self) -> Path:
        """The state directory of the bundled driver."""
        return self.data_dir.resolve() / "driver"

    @property
    def own_kubeconfig(self) -> Path:
        return self.data_dir / "kubeconfig"

    @property
    def told_kubeconfig(self) -> Path:
        """The one that users are told of."""
        return self.kubeconfig or self.own_kubeconfig


def default_data_dir() -> Path:
    """/var/lib/mooring for root, the user's own data directory for everyone else."""
    if os.geteuid() == 0:
        return Path("/var/lib/mooring")
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "mooring"


def get_node_name(wanted: str, before: str = "") -> str:
    """`wanted`, or else the name that the node had `before`, or that of this machine.

    Raises: UsageError when a node cannot have that name.
    """
    name = wanted or before or socket.gethostname().lower()
    problem = next(iter((*dns_subdomain(name), *label_value(name))), "")
    if problem:
        raise UsageError(
            f"{name!r} cannot be a node's name, give another with --node-name: {problem}"
        )
    return name
