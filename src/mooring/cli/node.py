"""`mooring node`: this machine as a node, against an API server elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import (
    CLUSTER_DOMAIN,
    RESOLV_CONF,
    VOLUME_PLUGIN_DIR,
    AllowedUnsafeSysctls,
    ClusterDnsServers,
    ClusterDomain,
    FollowedRelease,
    Format,
    HostRootfs,
    ImageConfig,
    Kubeconfig,
    Level,
    LogFormat,
    LogLevel,
    MetricsAddress,
    NodeName,
    PullImages,
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


def node(  # noqa: PLR0913, PLR0917  one argument per flag
    root_dir: Annotated[
        Path | None,
        typer.Option(
            help="Where pods' volumes are mounted; each node needs one of its own.",
            show_default="/var/lib/mooring-node/default for root, else ~/.local/share/mooring/node",
        ),
    ] = None,
    join: Annotated[
        str,
        typer.Option(
            help="URL of the API server to join, with --token; the whole line is printed there by "
            "`mooring token create --node NAME`.",
            show_default="the one joined before",
        ),
    ] = "",
    token: Annotated[
        str,
        typer.Option(help="The join token: for one node, once.", show_default=False),
    ] = "",
    kubeconfig: Kubeconfig = None,
    node_name: NodeName = "",
    host_rootfs: HostRootfs = False,  # noqa: FBT002  a flag of the command line
    listen: Annotated[
        str,
        typer.Option(
            help="Address at which the API server asks this node for logs, exec and attach.",
            show_default="the machine's own",
        ),
    ] = "",
    port: Annotated[
        int, typer.Option(help="The port there; 0 picks a free one.", min=0, max=65535)
    ] = 0,
    pull_images: PullImages = True,  # noqa: FBT002  a flag of the command line
    image_config: ImageConfig = None,
    seccomp_default: SeccompDefault = False,  # noqa: FBT002  a flag of the command line
    allowed_unsafe_sysctls: AllowedUnsafeSysctls = "",
    volume_plugin_dir: VolumePluginDir = VOLUME_PLUGIN_DIR,
    cluster_dns: ClusterDnsServers = "",
    cluster_domain: ClusterDomain = CLUSTER_DOMAIN,
    resolv_conf: ResolvConf = RESOLV_CONF,
    volume_stats_agg_period: VolumeStatsPeriod = 60,
    kubernetes_version: FollowedRelease = "",
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Join a Mooring API server as a node: run the pods that are bound to it, with their volumes.

    `mooring up` includes one: this is for further machines. On the server's machine, `mooring token
    create --node worker-1` prints the command to type here. The server is known by its CA, whose
    hash is in the token; the node's credentials are kept in the root directory, so that a
    restart needs neither --join nor --token. A second machine under the name of a living one is
    refused.

    Stopping it leaves everything mounted and running; a restart finds it. To end all that and leave
    the cluster: mooring down --root-dir R. Mounting needs root, containers need runc and conmon
    too. Images are pulled from registries, or come from `mooring image import`.

    Example: mooring node --join https://10.0.0.5:6443 --token 5f0c... --node-name worker-1
    """
    from mooring import log
    from mooring.model.kubernetes_version import parse_followed
    from mooring.node.names.options import DnsOptions
    from mooring.node.options import NodeOptions
    from mooring.node.status.hardware import own_address
    from mooring.stack.join import JoinWish
    from mooring.stack.standalone import Standalone, run_node

    log.to_stderr(log_level, log_format)
    wanted = Standalone(
        kubeconfig,
        leader_elect=False,
        metrics_address=metrics_address,
        release=parse_followed(kubernetes_version),
    )
    options = NodeOptions(
        node_name,
        host_rootfs=host_rootfs,
        listen=listen or own_address(),
        port=port,
        pull_images=pull_images,
        images=images_of(image_config),
        seccomp_default=seccomp_default,
        allowed_unsafe_sysctls=sysctls_of(allowed_unsafe_sysctls),
        volume_plugin_dir=volume_plugin_dir,
        dns=DnsOptions(dns_servers_of(cluster_dns), domain_of(cluster_domain), resolv_conf),
        volume_stats_period=volume_stats_agg_period,
    )
    run_node(wanted, say, root_dir, options, JoinWish(join, token, node_name))
