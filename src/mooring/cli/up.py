"""`mooring up`: everything, in one process, on one machine."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import (
    CLUSTER_DOMAIN,
    HOST,
    NODE_MONITOR_GRACE,
    PORT,
    RELEASE,
    RESOLV_CONF,
    VOLUME_PLUGIN_DIR,
    AllowedUnsafeSysctls,
    ClusterDnsServers,
    ClusterDomain,
    DataDir,
    DistributedSnapshotting,
    Format,
    Gates,
    Host,
    HostRootfs,
    ImageConfig,
    Level,
    LogFormat,
    LogLevel,
    Names,
    NodeMonitorGrace,
    Port,
    PullImages,
    Release,
    ResolvConf,
    SeccompDefault,
    VolumePluginDir,
    VolumeStatsPeriod,
    dns_servers_of,
    domain_of,
    images_of,
    sysctls_of,
)
from mooring.cli.say import say


def up(  # noqa: PLR0913, PLR0917  one argument per flag
    data_dir: DataDir,
    name: Names,
    port: Port = PORT,
    host: Host = HOST,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Write the admin's kubeconfig here too.")
    ] = None,
    node_name: Annotated[
        str,
        typer.Option(
            help="Name of this machine as a node. The data directory keeps it; under another one, "
            "the Node of the old name is deleted.",
            show_default="as before; at first the host name",
        ),
    ] = "",
    no_node: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option("--no-node", help="Do not run a node on this machine.")
    ] = False,
    root_dir: Annotated[
        Path | None,
        typer.Option(
            help="Where pods' volumes are mounted: outside of the data directory, in which `node` "
            "is a link to it. /var/lib/kubelet suits drivers that are made for a kubelet.",
            show_default="for root a directory of its own in /var/lib/mooring-node",
        ),
    ] = None,
    host_rootfs: HostRootfs = True,  # noqa: FBT002  a flag of the command line
    pull_images: PullImages = True,  # noqa: FBT002  a flag of the command line
    image_config: ImageConfig = None,
    seccomp_default: SeccompDefault = False,  # noqa: FBT002  a flag of the command line
    allowed_unsafe_sysctls: AllowedUnsafeSysctls = "",
    volume_plugin_dir: VolumePluginDir = VOLUME_PLUGIN_DIR,
    cluster_dns: ClusterDnsServers = "",
    cluster_domain: ClusterDomain = CLUSTER_DOMAIN,
    resolv_conf: ResolvConf = RESOLV_CONF,
    volume_stats_agg_period: VolumeStatsPeriod = 60,
    node_monitor_grace_period: NodeMonitorGrace = NODE_MONITOR_GRACE,
    enable_distributed_snapshotting: DistributedSnapshotting = False,  # noqa: FBT002  likewise
    feature_gates: Gates = "",
    kubernetes_version: Release = RELEASE,
    no_sidecars_for: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DRIVER",
            help="Leave this CSI driver to sidecars of its own (repeatable).",
        ),
    ] = None,
    sidecar_flag: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DRIVER:FLAG=VALUE",
            help="A flag of `mooring sidecar` for one CSI driver (repeatable), as "
            "hostpath.csi.k8s.io:strict-topology=true.",
        ),
    ] = None,
    log_level: LogLevel = Level.WARNING,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Run Mooring here: API server with embedded database, volume controllers, scheduler, node.

    Prints a short block when all of it is ready: URL and kubeconfig, node, default class, and what
    will not work here, with the reason and a remedy. Ctrl-C or SIGTERM stops it.
    All state is in the data directory: a restart finds everything again. Claims of a class with
    the provisioner kubernetes.io/host-path get their volumes there too, in `volumes`. The volumes
    of this machine's pods are mounted elsewhere, for which root is needed: `node` is a link to
    them, so removing the data directory by hand harms no volume. Stopping leaves them mounted and
    containers running, as a restart of a kubelet does. Containers need runc and conmon.

    Example: mooring up --data-dir ./data, then kubectl --kubeconfig ./data/kubeconfig get pv
    """
    from mooring.model.feature_gates import parse_gates
    from mooring.model.kubernetes_version import parse_version
    from mooring.sidecars.driver_flags import checked_drivers, parse_flags
    from mooring.sidecars.options import SidecarOptions
    from mooring.stack.garbage import collect_garbage_seldom

    parse_flags(sidecar_flag or (), SidecarOptions())  # refused before anything starts
    drivers_alone = checked_drivers(no_sidecars_for or ())
    collect_garbage_seldom()
    from mooring import log
    from mooring.stack.config import Config, get_node_name
    from mooring.stack.node_name import find_node_name
    from mooring.stack.up import run_everything

    log.to_stderr(log_level, log_format)
    node = "" if no_node else get_node_name(node_name, find_node_name(data_dir))
    config = Config(
        data_dir,
        host,
        port,
        tuple(name),
        kubeconfig,
        node,
        host_rootfs,
        root_dir,
        pull_images=pull_images,
        images=images_of(image_config),
        seccomp_default=seccomp_default,
        allowed_unsafe_sysctls=sysctls_of(allowed_unsafe_sysctls),
        volume_plugin_dir=volume_plugin_dir,
        cluster_dns=dns_servers_of(cluster_dns),
        cluster_domain=domain_of(cluster_domain),
        resolv_conf=resolv_conf,
        volume_stats_period=volume_stats_agg_period,
        node_monitor_grace=node_monitor_grace_period,
        snapshots_distributed=enable_distributed_snapshotting,
        gates=parse_gates(feature_gates),
        release=parse_version(kubernetes_version),
        no_sidecars_for=drivers_alone,
        sidecar_flags=tuple(sidecar_flag or ()),
    )
    run_everything(config, say)
