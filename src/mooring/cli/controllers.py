"""`mooring controllers`: the controllers alone, against any Kubernetes API server."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import (
    Format,
    Kubeconfig,
    LeaderElect,
    Level,
    LogFormat,
    LogLevel,
    MetricsAddress,
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
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Bind, release, attach, protect and expand volumes on any Kubernetes API server.

    `mooring up` includes them: this is for `mooring apiserver`, and for real clusters.

    Example: mooring controllers --kubeconfig data/controllers.kubeconfig
    """
    from mooring import log
    from mooring.controllers.attachment.view import Policy
    from mooring.controllers.binding.effects.recycle import Deadline
    from mooring.controllers.binding.effects.recycler_template import (
        DEFAULT_TEMPLATE,
        load_template,
    )
    from mooring.controllers.options import Recycling
    from mooring.stack.standalone import Standalone, run_controllers

    log.to_stderr(log_level, log_format)
    recycling = Recycling(
        Deadline(nfs_minimum, nfs_increment),
        Deadline(host_path_minimum, host_path_increment),
        load_template(nfs_template) if nfs_template else DEFAULT_TEMPLATE,
        load_template(host_path_template) if host_path_template else DEFAULT_TEMPLATE,
    )
    wanted = Standalone(kubeconfig, leader_elect, metrics_address)
    detaching = Policy(forces_on_timeout=not disable_force_detach)
    run_controllers(wanted, say, recycling, detaching, makes_host_paths=enable_hostpath_provisioner)
