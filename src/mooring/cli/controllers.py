"""`mooring controllers`: the controllers alone, against any Kubernetes API server."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import (
    NODE_MONITOR_GRACE,
    Kubeconfig,
    LeaderElect,
    Level,
    LogLevel,
    MetricsAddress,
    NodeMonitorGrace,
)
from mooring.cli.say import say

HostPathProvisioner = Annotated[
    bool,
    typer.Option(
        "--enable-hostpath-provisioner",
        help="Make volumes in the temporary directory of this machine; for development.",
    ),
]
NfsTemplate = Annotated[
    Path | None,
    typer.Option(
        "--pv-recycler-pod-template-filepath-nfs",
        help="Manifest of the pod that wipes released NFS volumes.",
    ),
]
NfsMinimum = Annotated[
    int, typer.Option("--pv-recycler-minimum-timeout-nfs", help="Seconds to wipe NFS, at least.")
]
NfsIncrement = Annotated[
    int, typer.Option("--pv-recycler-increment-timeout-nfs", help="Seconds for each Gi of it.")
]
HostPathTemplate = Annotated[
    Path | None,
    typer.Option(
        "--pv-recycler-pod-template-filepath-hostpath",
        help="Manifest of the pod that wipes released hostPath volumes.",
    ),
]
HostPathMinimum = Annotated[
    int,
    typer.Option(
        "--pv-recycler-minimum-timeout-hostpath", help="Seconds to wipe hostPath, at least."
    ),
]
HostPathIncrement = Annotated[
    int,
    typer.Option("--pv-recycler-timeout-increment-hostpath", help="Seconds for each Gi of it."),
]
DisableForceDetach = Annotated[
    bool,
    typer.Option(
        "--disable-force-detach-on-timeout",
        help="Never take volumes from a node that was not ready, or deleted, for 6 minutes.",
    ),
]
Chosen = Annotated[
    str,
    typer.Option(
        "--controllers",
        help="Which controllers run: * are those of volumes and replication; node-lifecycle, "
        "taint-eviction and pod-gc have to be named, for kube-controller-manager has its own; "
        "-name leaves one out.",
    ),
]


def controllers(  # noqa: PLR0913, PLR0917  one argument per flag
    kubeconfig: Kubeconfig = None,
    leader_elect: LeaderElect = True,  # noqa: FBT002  a flag of the command line
    enable_hostpath_provisioner: HostPathProvisioner = False,  # noqa: FBT002  likewise
    nfs_template: NfsTemplate = None,
    nfs_minimum: NfsMinimum = 300,
    nfs_increment: NfsIncrement = 30,
    host_path_template: HostPathTemplate = None,
    host_path_minimum: HostPathMinimum = 60,
    host_path_increment: HostPathIncrement = 30,
    disable_force_detach: DisableForceDetach = False,  # noqa: FBT002  likewise
    chosen: Chosen = "*",
    monitor_grace: NodeMonitorGrace = NODE_MONITOR_GRACE,
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
) -> None:
    """Bind, release, attach, protect and expand volumes on any Kubernetes API server.

    `mooring up` includes them: this is for `mooring apiserver`, and for real clusters. Nodes that
    die are seen to in real clusters by kube-controller-manager; for `mooring apiserver` say
    --controllers '*,node-lifecycle,taint-eviction,pod-gc'.

    Example: mooring controllers --kubeconfig data/controllers.kubeconfig
    """
    from mooring import log
    from mooring.controllers.attachment.view import Policy
    from mooring.controllers.binding.effects.recycle import Deadline
    from mooring.controllers.binding.effects.recycler_template import (
        DEFAULT_TEMPLATE,
        load_template,
    )
    from mooring.controllers.node_lifecycle.view import Monitoring
    from mooring.controllers.options import Recycling
    from mooring.controllers.role import choose
    from mooring.stack.standalone import Cluster, Standalone, run_controllers

    log.to_stderr(log_level)
    recycling = Recycling(
        Deadline(nfs_minimum, nfs_increment),
        Deadline(host_path_minimum, host_path_increment),
        load_template(nfs_template) if nfs_template else DEFAULT_TEMPLATE,
        load_template(host_path_template) if host_path_template else DEFAULT_TEMPLATE,
    )
    wanted = Standalone(kubeconfig, leader_elect, metrics_address)
    cluster = Cluster(
        choose(chosen),
        recycling,
        Policy(forces_on_timeout=not disable_force_detach),
        Monitoring(grace=monitor_grace),
    )
    run_controllers(wanted, say, cluster, makes_host_paths=enable_hostpath_provisioner)
