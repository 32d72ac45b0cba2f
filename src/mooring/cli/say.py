"""The few lines that a role in the foreground says about itself."""

from contextlib import suppress

import typer


def say(line: str) -> None:
    """On standard output. Where that is full or closed the role goes on without a word."""
    with suppress(OSError):
        typer.echo(line)
