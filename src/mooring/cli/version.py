"""`mooring version` and `mooring --version`: of Mooring, its Kubernetes API and Python."""

import platform
from typing import Annotated

import typer

from mooring import __version__
from mooring.model.kubernetes_version import VERSIONS


def version() -> None:
    """Print the versions of Mooring, of the Kubernetes API it follows, and of Python."""
    apis, python = " or ".join(VERSIONS), platform.python_version()
    typer.echo(f"mooring {__version__} (Kubernetes API {apis}, Python {python})")


def _show(is_wanted: bool) -> None:  # noqa: FBT001  a flag of the command line
    if is_wanted:
        version()
        raise typer.Exit


def mooring(
    *,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print versions, and end.",
            is_eager=True,
            show_envvar=False,
            callback=_show,
        ),
    ] = False,
) -> None:
    """The Kubernetes storage stack in one process: volumes, claims, classes, CSI.

    Every flag of a command can be given in the environment, as MOORING_<COMMAND>_<FLAG>
    (MOORING_UP_PORT=7443 for `mooring up --port 7443`), and, for the commands that run, in a file
    (--config). `mooring --install-completion` teaches your shell the commands and flags.
    """
