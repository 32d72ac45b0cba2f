"""`mooring controllers`: the controllers alone, against any Kubernetes API server."""

from typing import Annotated

import typer

from mooring.cli.flags import Kubeconfig, LeaderElect, Level, LogLevel, MetricsAddress


def controllers(
    kubeconfig: Kubeconfig = None,
    leader_elect: LeaderElect = True,  # noqa: FBT002  a flag of the command line
    enable_hostpath_provisioner: Annotated[  # noqa: FBT002  a flag of the command line
        bool,
        typer.Option(
            "--enable-hostpath-provisioner",
            help="Make volumes in the temporary directory of this machine; for development.",
        ),
    ] = False,
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
) -> None:
    """Bind, release, protect and expand volumes on a Kubernetes API server, Mooring's or any other.

    `mooring up` includes them: this is for `mooring apiserver`, and for real clusters.

    Example: mooring controllers --kubeconfig data/controllers.kubeconfig
    """
    from mooring import log
    from mooring.stack.alone import Alone, run_controllers

    log.to_stderr(log_level)
    wanted = Alone(kubeconfig, leader_elect, metrics_address)
    run_controllers(wanted, typer.echo, makes_host_paths=enable_hostpath_provisioner)
