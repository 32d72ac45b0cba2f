"""`mooring kubeconfig`: a kubeconfig for a role."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import DataDir


def kubeconfig(
    data_dir: DataDir,
    role: Annotated[
        str,
        typer.Option(
            help="Whose rights it carries: admin, controllers, scheduler, sidecars, read-only or "
            "node:<name>."
        ),
    ] = "admin",
    server: Annotated[
        str,
        typer.Option(help="URL that its user reaches the server by.", show_default="as running"),
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it here, readable by you alone.")
    ] = None,
) -> None:
    """Print (or write) a kubeconfig for a role, from the data directory of a server.

    Example: mooring kubeconfig --role node:worker-1 --server https://10.0.0.5:6443 -o worker-1.conf
    """
    from mooring.stack.credentials import kubeconfig_for, write_kubeconfig

    made = kubeconfig_for(data_dir, role, server)
    if output is None:
        typer.echo(made.text(), nl=False)
    else:
        write_kubeconfig(made, output)
