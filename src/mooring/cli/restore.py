"""`mooring restore`: a data directory out of a backup."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import DataDir, Level
from mooring.cli.say import say


def restore(
    file: Annotated[Path, typer.Argument(help="What `mooring backup` has written.")],
    data_dir: DataDir,
) -> None:
    """Make a data directory out of a backup: whole, or not at all.

    Into an empty or missing directory only. A file that was cut or altered is refused. What differs
    on another machine, or under another node name, is said.

    Example: mooring restore monday.tar --data-dir ./data
    """
    from mooring import log
    from mooring.upkeep import restore as upkeep

    log.to_stderr(Level.ERROR)
    restored = upkeep.restore(file, data_dir)
    manifest = restored.manifest
    made = manifest.created.strftime("%Y-%m-%d %H:%M:%S UTC")
    say(f"restored {manifest.objects} objects of {made} to {data_dir}")
    for line in restored.differences:
        say(line)
