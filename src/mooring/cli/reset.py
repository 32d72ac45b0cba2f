"""`mooring reset`: start over."""

from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.down import Grace
from mooring.cli.flags import DataDir, Level
from mooring.cli.say import say

if TYPE_CHECKING:
    from mooring.upkeep.reset import Inventory


def reset(
    data_dir: DataDir,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,  # noqa: FBT002
    grace: Grace = 5.0,
) -> None:
    """Take everything down, and remove the data directory and the root directory of its node.

    Objects, keys, and volumes with their data are lost: it shows what goes, and asks before. No
    mount is ever entered; while anything is still in use it is named, nothing is removed, and the
    exit code is 1. What is not Mooring's stays.

    Example: mooring reset --data-dir ./data
    """
    from mooring import log
    from mooring.clock import RealClock
    from mooring.host.mount import Mounts
    from mooring.upkeep import reset as upkeep

    def agree(found: "Inventory") -> bool:
        return yes or _ask(found)

    log.to_stderr(Level.ERROR)
    try:
        removed = upkeep.reset(data_dir, Mounts(), RealClock(), grace, agree)
    except upkeep.StillInUse as error:
        for line in (*str(error).splitlines(), "nothing was removed"):
            typer.echo(f"mooring: {line}", err=True)
        raise typer.Exit(1) from error
    if removed is None:
        typer.echo("mooring: nothing was ended and nothing was removed", err=True)
        raise typer.Exit(1)
    say(f"removed {' and '.join(str(path) for path in removed.paths)}")
    if removed.others:
        say(f"not mooring's, and left in {data_dir}: {', '.join(removed.others)}")


def _ask(found: "Inventory") -> bool:
    from mooring.upkeep.prompt import prompt_lines

    for line in prompt_lines(found):
        say(line)
    try:
        return typer.confirm("Remove all that?")
    except typer.Abort:  # the end of the input, or Ctrl-C
        say("")
        return False
