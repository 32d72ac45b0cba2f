"""`mooring version`: the versions of Mooring, its Kubernetes API and Python."""

import platform

import typer

from mooring import __version__


def version() -> None:
    """Print the versions of Mooring, of the Kubernetes API it follows, and of Python."""
    typer.echo(f"mooring {__version__} (Kubernetes API 1.35, Python {platform.python_version()})")
