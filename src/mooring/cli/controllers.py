"""`mooring controllers`: the controllers alone, against any Kubernetes API server."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import Level, LogLevel


def controllers(
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="How to reach the API server; without it $KUBECONFIG, then the pod's account."
        ),
    ] = None,
    leader_elect: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option(help="Wait for the lease, so that several of these may run.")
    ] = True,
    enable_hostpath_provisioner: Annotated[  # noqa: FBT002  a flag of the command line
        bool,
        typer.Option(
            "--enable-hostpath-provisioner",
            help="Make volumes in the temporary directory of this machine; for development.",
        ),
    ] = False,
    log_level: LogLevel = Level.INFO,
) -> None:
    """Bind, release, protect and expand volumes on a Kubernetes API server, Mooring's or any other.

    Example: mooring controllers --kubeconfig data/kubeconfig
    """
    from mooring import log
    from mooring.stack.controllers import Wanted, run_controllers

    log.to_stderr(log_level)
    wanted = Wanted(kubeconfig, leader_elect, enable_hostpath_provisioner)
    run_controllers(wanted, typer.echo)
