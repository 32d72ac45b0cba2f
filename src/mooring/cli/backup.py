"""`mooring backup`: one file of all that a data directory holds."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import DataDir, Level
from mooring.cli.say import say


def backup(
    file: Annotated[Path, typer.Argument(help="Where to write it; an older one is replaced.")],
    data_dir: DataDir,
    with_volumes: Annotated[  # noqa: FBT002  a flag of the command line
        bool,
        typer.Option(
            "--with-volumes",
            help="Also the contents of the bundled driver's volumes and snapshots, and of the "
            "directories of hostPath claims. Consistent only when nothing uses them.",
        ),
    ] = False,
) -> None:
    """Write database, keys, tokens and the bundled driver's records to one file (tar, mode 0600).

    While `mooring up` runs or not: what was acknowledged before is in it, and no write waits for
    it. It holds private keys and Secrets: keep it as you keep those. `mooring restore` reads it.

    Example: mooring backup monday.tar --data-dir ./data
    """
    from mooring import log
    from mooring.clock import RealClock
    from mooring.upkeep.backup import back_up
    from mooring.upkeep.counted import counted
    from mooring.upkeep.printable import printable
    from mooring.upkeep.sizes import told_bytes

    log.to_stderr(Level.ERROR)
    made = back_up(data_dir, file, RealClock(), with_volumes=with_volumes)
    say(f"{file}: {made.objects} objects, revision {made.revision}, {told_bytes(made.size)}")
    if made.volumes_in_use:
        used = counted(made.volumes_in_use, "volume was in use", "volumes were in use")
        say(
            f"{used}: contents are as after a power cut; for better ones stop mooring, and "
            "run `mooring down` before"
        )
    if made.left_out:
        what = counted(
            len(made.left_out),
            "FIFO, socket or device node was",
            "FIFOs, sockets or device nodes were",
        )
        say(f"{what} left out: {printable(', '.join(made.left_out))}")
