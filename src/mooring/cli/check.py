"""`mooring check`: is all as it should be?"""

from typing import Annotated

import typer

from mooring.cli.flags import DataDir, Level
from mooring.cli.say import say


def check(
    data_dir: DataDir,
    repair: Annotated[  # noqa: FBT002  a flag of the command line
        bool,
        typer.Option(
            "--repair",
            help="Put right what is safe: mounts and containers of pods that do not exist, records "
            "of what is not there any more. Only while mooring does not run.",
        ),
    ] = False,
) -> None:
    """Check database, volumes of the bundled driver, containers and mounts against the objects.

    Prints a table of findings, each with its remedy; the exit code is 1 while there are any.
    Nothing is changed without --repair, and nobody's data ever.

    Example: mooring check --data-dir ./data
    """
    from mooring import log
    from mooring.clock import RealClock
    from mooring.host.mount import Mounts
    from mooring.upkeep import check as upkeep
    from mooring.upkeep.counted import counted
    from mooring.upkeep.printable import printable

    log.to_stderr(Level.ERROR)
    found = upkeep.check(data_dir, Mounts(), RealClock(), repair=repair)
    for one in found.repaired:
        say(printable(f"repaired: {one.where}: {one.what}"))
    for line in found.failed:
        typer.echo(f"mooring: not repaired: {line}", err=True)
    if found.findings:
        for line in upkeep.told(found.findings):
            say(line)
        raise typer.Exit(1)
    looked_at = (
        counted(found.objects, "object", "objects") or "no objects",
        counted(found.volumes, "volume of the bundled driver", "volumes of the bundled driver"),
        counted(found.containers, "container", "containers"),
    )
    say(f"no findings in {', '.join(filter(None, looked_at))} and their mounts")
