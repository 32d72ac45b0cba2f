"""Flags that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.errors import UsageError
from mooring.model.kubernetes_version import NEWEST
from mooring.model.names import dns_subdomain
from mooring.stack.config import DEFAULT_PORT, LOOPBACK, default_data_dir

if TYPE_CHECKING:
    from mooring.oci.registry.settings import ImageSettings


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


DataDir = Annotated[
    Path,
    typer.Option(
        help="Where everything is kept: database, keys, tokens, kubeconfig.",
        default_factory=default_data_dir,
        show_default="/var/lib/mooring for root, else ~/.local/share/mooring",
    ),
]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)]
Host = Annotated[
    str, typer.Option(help="Address to listen on. Others than loopback let other machines in.")
]
Names = Annotated[
    list[str],
    typer.Option(
        "--name",
        help="A further host name or IP address that clients reach the server by (repeatable); "
        "goes into its certificate.",
        default_factory=list,
        show_default=False,
    ),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        help="How to reach the API server; without it $KUBECONFIG, the pod's account, ~/.kube."
    ),
]
NodeName = Annotated[
    str, typer.Option(help="Name of this machine as a node.", show_default="the host name")
]
HostRootfs = Annotated[
    bool,
    typer.Option(
        help="Run pods whose image is not here on this machine's own programs: handy for trying "
        "things. Such a pod sees /usr and the public part of /etc, as everybody may read them.",
    ),
]
PullImages = Annotated[
    bool,
    typer.Option(
        help="Pull images from registries. With --host-rootfs, only those whose names say the "
        "registry: quay.io/team/tool, and not busybox.",
    ),
]
ImageConfig = Annotated[
    Path | None,
    typer.Option(
        help="YAML file with mirrors, authorities and limits of registries, and when unused "
        "images are removed (docs/images.md).",
        show_default=False,
    ),
]
SeccompDefault = Annotated[
    bool,
    typer.Option(
        "--seccomp-default",
        help="Give containers that ask for no seccomp profile the default one (RuntimeDefault) "
        "instead of none.",
    ),
]
VOLUME_PLUGIN_DIR = Path("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/")
VolumePluginDir = Annotated[
    Path,
    typer.Option(
        "--volume-plugin-dir",
        help="Where FlexVolume drivers are: DIR/vendor~driver/driver. It is watched; that it does "
        "not exist is no error.",
    ),
]
ClusterDnsServers = Annotated[
    str,
    typer.Option(
        "--cluster-dns",
        help="Address of the DNS server that pods ask, or several: 10.96.0.10,10.96.0.11",
        show_default="a server of the node's own, which answers names of services",
    ),
]
CLUSTER_DOMAIN = "cluster.local"
ClusterDomain = Annotated[
    str, typer.Option("--cluster-domain", help="The domain below which services have their names.")
]
RESOLV_CONF = Path("/etc/resolv.conf")
ResolvConf = Annotated[
    Path,
    typer.Option(
        "--resolv-conf",
        help="The host's resolver: its servers are asked for names outside of the cluster.",
    ),
]
AllowedUnsafeSysctls = Annotated[
    str,
    typer.Option(
        help="Sysctls, or patterns that end in *, that pods may set beside the safe ones: "
        "kernel.msg*,fs.mqueue.*",
        show_default="none",
    ),
]
VolumeStatsPeriod = Annotated[
    float,
    typer.Option(
        "--volume-stats-agg-period",
        help="Seconds for which the usage of a volume is cached, and between two looks at the "
        "health of volumes.",
        min=1,
    ),
]
Gates = Annotated[
    str,
    typer.Option(
        "--feature-gates",
        help="CrossNamespaceVolumeDataSource=true: claims may be filled from snapshots and claims "
        "of other namespaces, where a ReferenceGrant allows it.",
        show_default="all off",
    ),
]
Release = Annotated[
    str,
    typer.Option(
        "--kubernetes-version",
        help="The release of Kubernetes that is followed, 1.35 or 1.37: what /version, discovery, "
        "fields, texts and controllers are like (docs/kubernetes-versions.md).",
    ),
]
FollowedRelease = Annotated[
    str,
    typer.Option(
        "--kubernetes-version",
        help="The release of Kubernetes that is followed, 1.35 or 1.37 "
        "(docs/kubernetes-versions.md).",
        show_default="the one nearest to the server's",
    ),
]
DistributedSnapshotting = Annotated[
    bool,
    typer.Option(
        "--enable-distributed-snapshotting",
        help="Label each VolumeSnapshotContent with the node that its volume belongs to, for "
        "snapshotters that run on each node (mooring sidecar snapshotter --node-deployment).",
    ),
]
NodeMonitorGrace = Annotated[
    float,
    typer.Option(
        "--node-monitor-grace-period",
        help="Seconds after which a node that is not heard of counts as lost.",
        min=1,
    ),
]
LeaderElect = Annotated[
    bool, typer.Option(help="Wait for the lease, so that several of these may run.")
]
MetricsAddress = Annotated[
    str,
    typer.Option(
        help="Serve /metrics and /healthz at this host:port, to anyone who reaches it; "
        "port 0 picks a free one.",
        show_default="nowhere",
    ),
]
LogLevel = Annotated[Level, typer.Option(help="How much to tell.", case_sensitive=False)]
LogFormat = Annotated[
    Format, typer.Option(help="How log lines on standard error look.", case_sensitive=False)
]


def dns_servers_of(listed: str) -> tuple[str, ...]:
    """Split at commas. Raises: UsageError for what is no address."""
    from ipaddress import ip_address

    words = tuple(word for part in listed.split(",") if (word := part.strip()))
    for word in words:
        try:
            ip_address(word)
        except ValueError:
            raise UsageError(f'--cluster-dns: "{word}" is no IP address') from None
    return words


def domain_of(given: str) -> str:
    """Raises: UsageError for what is no domain."""
    domain = given.rstrip(".").lower()
    for problem in dns_subdomain(domain):
        raise UsageError(f'--cluster-domain: "{given}" is no domain: {problem}')
    return domain


def images_of(file: Path | None) -> "ImageSettings":
    """Raises: UsageError."""
    from mooring.oci.registry.settings import ImageSettings, read

    return ImageSettings() if file is None else read(file)


def sysctls_of(listed: str) -> tuple[str, ...]:
    """Split at commas. Raises: UsageError for a sysctl that is not namespaced."""
    words = tuple(word for part in listed.split(",") if (word := part.strip()))
    if words:
        from mooring.node.admission.sysctls import allowed

        allowed(words)
    return words


PORT, HOST = DEFAULT_PORT, LOOPBACK
RELEASE = str(NEWEST)
NODE_MONITOR_GRACE = 40.0
