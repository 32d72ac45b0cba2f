"""`mooring token`: let further machines in, and change the tokens of roles."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated

import typer

from mooring.cli.config_file import configurable
from mooring.cli.flags import DataDir
from mooring.errors import UsageError

app = typer.Typer(
    help="Join tokens for further machines, and new tokens for roles. On the server's machine, "
    "while it runs or not; a running server knows at once.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _duration(text: str) -> timedelta:
    """`90m`, `24h`, `1h30m`. Raises: UsageError."""
    parts = re.findall(r"(\d+)([smhd])", text)
    if not parts or "".join(f"{number}{unit}" for number, unit in parts) != text:
        raise UsageError(f"{text!r} is no time: write it as 30m, 24h or 7d")
    try:
        lasts = sum((timedelta(**{_UNITS[u]: int(n)}) for n, u in parts), timedelta())
    except OverflowError:
        lasts = timedelta.max
    if not timedelta() < lasts <= timedelta(days=365):
        raise UsageError(f"a join token lasts for more than nothing and at most 365d, not {text}")
    return lasts


def create(
    data_dir: DataDir,
    node: Annotated[
        str, typer.Option(help="Name of the node that may join.", show_default=False)
    ] = "",
    server: Annotated[
        str,
        typer.Option(help="URL by which that machine reaches the server.", show_default="its own"),
    ] = "",
    ttl: Annotated[str, typer.Option(help="How long it can be used: 30m, 24h, 7d.")] = "24h",
) -> None:
    """Print the command that makes another machine a node, with a token for it: once, one name.

    The token also holds the hash of the server's CA, by which the other machine knows it. Here only
    a hash of the token is kept.

    Example: mooring token create --data-dir data --node worker-1
    """
    from mooring.clock import RealClock
    from mooring.stack.tokens import create_join_command

    if not node:
        raise UsageError("which node may join? Give --node NAME")
    made = create_join_command(data_dir, node, server, _duration(ttl), RealClock().now())
    if made.warning:
        typer.echo(f"mooring: {made.warning}", err=True)
    typer.echo(made.line)


def list_tokens(data_dir: DataDir) -> None:
    """List join tokens, and the nodes that have credentials. No secret is shown."""
    from mooring.clock import RealClock
    from mooring.stack import tokens

    rows = tokens.list_tokens(data_dir, RealClock().now())
    table = [("TOKEN", "NODE", "EXPIRES", "STATE")]
    table += [(row.id, row.node, row.expires, row.state) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        typer.echo("   ".join(padded).rstrip())


def revoke(
    token: Annotated[
        str,
        typer.Argument(
            help="The id of a join token, or node:<name> for the credentials of a node.",
            show_default=False,
        ),
    ],
    data_dir: DataDir,
) -> None:
    """Take back a join token, or the credentials of a node: it is refused from then on.

    What a node has running and mounted goes on; see `mooring down --root-dir` there.
    """
    from mooring.stack import tokens

    typer.echo(f"revoked {tokens.revoke(data_dir, token)}")


def rotate(
    data_dir: DataDir,
    role: Annotated[
        str,
        typer.Option(help="admin, controllers, scheduler, sidecars, read-only or node:<name>."),
    ] = "admin",
) -> None:
    """Give a role another token. The old one is refused at once, without a restart.

    Kubeconfigs in the data directory are rewritten. Watches that are open go on until they end,
    within the hour; a restart of the server ends them.
    """
    from mooring.stack import tokens

    done = tokens.rotate(data_dir, role)
    typer.echo(f"{done.role} has another token")
    for path in done.rewritten:
        typer.echo(f"rewritten: {path}")
    typer.echo(done.remedy)


_commands: dict[str, Callable[..., None]] = {
    "create": create,
    "list": list_tokens,
    "revoke": revoke,
    "rotate": rotate,
}
for _name, _command in _commands.items():
    app.command(_name)(configurable(_command))
