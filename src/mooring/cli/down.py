"""`mooring down`: end what a stopped `mooring up` left running and mounted."""

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


def down(data_dir: DataDir, grace: Grace = 5.0) -> None:
    """End the containers of a data directory's node, unmount its volumes, free its loop devices.

    For when `mooring up` has stopped, however it ended. Objects, volumes and their data stay:
    `mooring up` starts pods again. What is in use by another process is left and named, and the
    exit code is 1; everything else is done. Pods' preStop hooks are not run.

    Example: mooring down --data-dir ./data
    """
    from mooring import log
    from mooring.clock import RealClock
    from mooring.host.mount import Mounts
    from mooring.upkeep.down import take_down

    log.to_stderr(Level.ERROR)
    report = take_down(data_dir, Mounts(), RealClock(), grace)
    done = str(report)
    for trouble in report.troubles:
        typer.echo(f"mooring: {trouble}", err=True)
    say(done or "nothing was running or mounted")
    if report.troubles:
        raise typer.Exit(1)
