"""`mooring down`: end what a stopped `mooring up` left running and mounted."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import DataDir, Level
from mooring.cli.say import say

Grace = Annotated[
    float,
    typer.Option(
        help="Seconds that containers have to end by themselves, all at the same time. Those that "
        "do not heed their stop signal are killed at once.",
        min=0.0,
    ),
]


def down(
    data_dir: DataDir,
    root_dir: Annotated[
        Path | None,
        typer.Option(
            help="The --root-dir of a `mooring node`, instead of a data directory.",
            show_default=False,
        ),
    ] = None,
    grace: Grace = 5.0,
) -> None:
    """End the containers of a data directory's node, unmount its volumes, free its loop devices.

    For when `mooring up` has stopped, however it ended. Objects, volumes and their data stay:
    `mooring up` starts pods again. What is in use by another process is left and named, and the
    exit code is 1; everything else is done. Pods' preStop hooks are not run.

    With --root-dir, for a stopped `mooring node`: when nothing is left of its pods, and it has
    joined with a token, the cluster is told that it has left, and its pods and volumes move to
    other machines at once.

    Example: mooring down --data-dir ./data
    """
    from mooring import log
    from mooring.clock import RealClock
    from mooring.host.mount import Mounts
    from mooring.stack.leave import leave_cluster
    from mooring.upkeep.down import take_down, take_down_root

    log.to_stderr(Level.ERROR)
    clock = RealClock()
    leave = partial(leave_cluster, clock=clock)
    if root_dir is None:
        report = take_down(data_dir, Mounts(), clock, grace, leave)
    else:
        report = take_down_root(root_dir, clock, grace, leave)
    done = str(report)
    for trouble in report.troubles:
        typer.echo(f"mooring: {trouble}", err=True)
    say(done or "nothing was running or mounted")
    if report.farewell:
        say(report.farewell)
    if report.troubles:
        raise typer.Exit(1)
