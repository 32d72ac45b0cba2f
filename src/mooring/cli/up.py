"""`mooring up`: everything, in one process, on one machine."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import HOST, PORT, DataDir, Host, Level, LogLevel, Names, Port


def up(  # noqa: PLR0913, PLR0917  one argument per flag
    data_dir: DataDir,
    names: Names,
    port: Port = PORT,
    host: Host = HOST,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Write the admin's kubeconfig here too.")
    ] = None,
    node_name: Annotated[
        str, typer.Option(help="Name of this machine as a node (no node runs yet).")
    ] = "",
    no_node: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option("--no-node", help="Do not run a node on this machine.")
    ] = False,
    log_level: LogLevel = Level.WARNING,
) -> None:
    """Run Mooring here: API server with embedded database, volume controllers, scheduler.

    Prints one line with the URL and the kubeconfig when it is ready; Ctrl-C or SIGTERM stops it.
    All state is in the data directory: a restart finds everything again. Claims of a class with
    the provisioner kubernetes.io/host-path get their volumes there too, in `volumes`.

    Example: mooring up --data-dir ./data, then kubectl --kubeconfig ./data/kubeconfig get pv
    """
    from mooring import log
    from mooring.stack.config import Config
    from mooring.stack.wiring import run_everything

    log.to_stderr(log_level)
    run_everything(Config(data_dir, host, port, tuple(names), kubeconfig), typer.echo)
