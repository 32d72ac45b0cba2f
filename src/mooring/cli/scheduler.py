"""`mooring scheduler`: the scheduler alone, against any Kubernetes API server."""

from typing import Annotated

import typer

from mooring.cli.flags import (
    FollowedRelease,
    Format,
    Kubeconfig,
    LeaderElect,
    Level,
    LogFormat,
    LogLevel,
    MetricsAddress,
)
from mooring.cli.say import say


def scheduler(
    kubeconfig: Kubeconfig = None,
    leader_elect: LeaderElect = True,  # noqa: FBT002  a flag of the command line
    scheduler_name: Annotated[
        str, typer.Option(help="Place pods that ask for a scheduler of this name.")
    ] = "default-scheduler",
    kubernetes_version: FollowedRelease = "",
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Place pods on nodes with regard to their volumes, on a Kubernetes API server.

    For Mooring's own clusters. On Kubernetes, kube-scheduler does it: run this one beside it with
    another --scheduler-name.

    Example: mooring scheduler --kubeconfig data/scheduler.kubeconfig
    """
    from mooring import log
    from mooring.model.kubernetes_version import parse_followed
    from mooring.stack.standalone import Standalone, run_scheduler

    log.to_stderr(log_level, log_format)
    wanted = Standalone(
        kubeconfig,
        leader_elect,
        metrics_address,
        parse_followed(kubernetes_version),
    )
    run_scheduler(wanted, say, scheduler_name)
