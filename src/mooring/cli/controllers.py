"""`mooring controllers`: the controllers alone, against any Kubernetes API server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.flags import (
    NODE_MONITOR_GRACE,
    VOLUME_PLUGIN_DIR,
    DistributedSnapshotting,
    FollowedRelease,
    Format,
    Kubeconfig,
    LeaderElect,
    Level,
    LogFormat,
    LogLevel,
    MetricsAddress,
    NodeMonitorGrace,
)
from mooring.cli.say import say

if TYPE_CHECKING:
    from mooring.controllers.snapshots.options import SnapshotOptions

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
FlexVolumePluginDir = Annotated[
    Path,
    typer.Option(
        "--flex-volume-plugin-dir",
        help="Where the FlexVolume drivers are that attach, detach and expand from here. It is "
        "watched; that it does not exist is no error.",
    ),
]
Chosen = Annotated[
    str,
    typer.Option(
        "--controllers",
        help="Which controllers run: * are those of volumes and replication; replicaset, "
        "deployment, statefulset, daemonset, job, cronjob, ttl-after-finished, disruption, "
        "endpoints, node-lifecycle, taint-eviction and pod-gc have to be named, for "
        "kube-controller-manager has its own, and snapshots and data-source, for they "
        "do the work of snapshot-controller and "
        "volume-data-source-validator; -name leaves one out.",
    ),
]
PreventModeConversion = Annotated[
    bool,
    typer.Option(
        "--prevent-volume-mode-conversion/--no-prevent-volume-mode-conversion",
        help="Record the mode of the volume in each VolumeSnapshotContent, so that a restore in "
        "another mode is refused.",
    ),
]
SnapshotLeaseNamespace = Annotated[
    str,
    typer.Option(
        "--snapshot-lease-namespace",
        help="Namespace of the lease snapshot-controller-leader, which upstream's "
        "snapshot-controller holds in its own; while it does, the controller snapshots rests.",
    ),
]


def controllers(  # noqa: PLR0913, PLR0917  one argument per flag
    kubeconfig: Kubeconfig = None,
    leader_elect: LeaderElect = True,  # noqa: FBT002  a flag of the command line
    enable_hostpath_provisioner: HostPathProvisioner = False,  # noqa: FBT002  likewise
    pv_recycler_pod_template_filepath_nfs: NfsTemplate = None,
    pv_recycler_minimum_timeout_nfs: NfsMinimum = 300,
    pv_recycler_increment_timeout_nfs: NfsIncrement = 30,
    pv_recycler_pod_template_filepath_hostpath: HostPathTemplate = None,
    pv_recycler_minimum_timeout_hostpath: HostPathMinimum = 60,
    pv_recycler_timeout_increment_hostpath: HostPathIncrement = 30,
    disable_force_detach_on_timeout: DisableForceDetach = False,  # noqa: FBT002  likewise
    controllers: Chosen = "*",
    node_monitor_grace_period: NodeMonitorGrace = NODE_MONITOR_GRACE,
    prevent_volume_mode_conversion: PreventModeConversion = True,  # noqa: FBT002  likewise
    enable_distributed_snapshotting: DistributedSnapshotting = False,  # noqa: FBT002  likewise
    snapshot_lease_namespace: SnapshotLeaseNamespace = "kube-system",
    flex_volume_plugin_dir: FlexVolumePluginDir = VOLUME_PLUGIN_DIR,
    kubernetes_version: FollowedRelease = "",
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Bind, release, attach, protect and expand volumes on any Kubernetes API server.

    `mooring up` includes them: this is for `mooring apiserver`, and for real clusters. Nodes that
    die, and workloads, are seen to in real clusters by kube-controller-manager; for `mooring
    apiserver` say --controllers '*,replicaset,deployment,statefulset,daemonset,job,cronjob,
    ttl-after-finished,disruption,endpoints,node-lifecycle,taint-eviction,pod-gc,snapshots,
    data-source' in one word.

    Example: mooring controllers --kubeconfig data/controllers.kubeconfig
    """
    from msgspec.structs import replace

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
    from mooring.model.kubernetes_version import parse_followed
    from mooring.stack.standalone import Cluster, Standalone, run_controllers

    log.to_stderr(log_level, log_format)
    recycling = Recycling(
        Deadline(pv_recycler_minimum_timeout_nfs, pv_recycler_increment_timeout_nfs),
        Deadline(pv_recycler_minimum_timeout_hostpath, pv_recycler_timeout_increment_hostpath),
        load_template(pv_recycler_pod_template_filepath_nfs)
        if pv_recycler_pod_template_filepath_nfs
        else DEFAULT_TEMPLATE,
        load_template(pv_recycler_pod_template_filepath_hostpath)
        if pv_recycler_pod_template_filepath_hostpath
        else DEFAULT_TEMPLATE,
    )
    wanted = Standalone(
        kubeconfig,
        leader_elect,
        metrics_address,
        parse_followed(kubernetes_version),
    )
    cluster = Cluster(
        choose(controllers),
        recycling,
        Policy(forces_on_timeout=not disable_force_detach_on_timeout),
        Monitoring(grace=node_monitor_grace_period),
        replace(
            _snapshots(snapshot_lease_namespace, prevent_volume_mode_conversion, leader_elect),
            is_distributed=enable_distributed_snapshotting,
        ),
        flex_volume_plugin_dir,
    )
    run_controllers(wanted, say, cluster, makes_host_paths=enable_hostpath_provisioner)


def _snapshots(namespace: str, records_mode: bool, elects: bool) -> "SnapshotOptions":  # noqa: FBT001  flags of the command line
    import socket
    import uuid

    from mooring.controllers.snapshots.options import SNAPSHOT_LEASE, SnapshotLease, SnapshotOptions
    from mooring.controllers.snapshots.view import ContentMode
    from mooring.model.keys import Key

    mode = ContentMode.RECORDED if records_mode else ContentMode.FORGOTTEN
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    lease = SnapshotLease(Key(namespace, SNAPSHOT_LEASE), identity) if elects else None
    return SnapshotOptions(mode, lease)
