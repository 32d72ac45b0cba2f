"""The lines that a role in the foreground prints."""

from contextlib import suppress

import typer


def say(line: str) -> None:
    """Print on standard output. If that is full or closed, the role goes on silently."""
    with suppress(OSError):
        typer.echo(line)
