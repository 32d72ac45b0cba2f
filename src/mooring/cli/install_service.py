"""`mooring install-service`: a systemd unit for `mooring up`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.cli.say import say

if TYPE_CHECKING:
    from mooring.upkeep.service_unit import Service

CONTEXT: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
_GIVEN = ("COMMANDLINE", "ENVIRONMENT")


def install_service(
    ctx: typer.Context,
    user: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option("--user", help="A service of this user, not of the machine.")
    ] = False,
    unit: Annotated[str, typer.Option(help="Name of the unit.")] = "mooring",
    print: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option("--print", help="Print the unit, and write nothing.")
    ] = False,
    uninstall: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option("--uninstall", help="Remove the unit; data and containers stay.")
    ] = False,
) -> None:
    """Write a systemd unit that runs `mooring up` of this installation, and say how to start it.

    All other flags are those of `mooring up`, and go into the unit. A unit of somebody else is
    never replaced; one of Mooring's is. Nothing is started or stopped.

    Example: mooring install-service --data-dir /srv/mooring --node-name node1
    """
    from mooring.upkeep import service as upkeep
    from mooring.upkeep.service_unit import unit_text

    service = _service_of(ctx.args, is_of_user=user)
    place = upkeep.place_of_unit(unit, is_of_user=user)
    control, name = f"systemctl{' --user' if user else ''}", place.name.removesuffix(".service")
    if uninstall:
        upkeep.uninstall(place, f"{control} disable --now {name}")
        say(f"removed {place.file}; now run: {control} daemon-reload")
        return
    text = unit_text(service)
    if print:
        typer.echo(text, nl=False)
        return
    upkeep.install(place, text)
    say(f"wrote {place.file}; now run:")
    say(f"  {control} daemon-reload")
    say(f"  {control} enable --now {name}")
    if user and os.geteuid() != 0:
        say("it runs while you are logged in; to have it run always: loginctl enable-linger")


def _service_of(args: list[str], *, is_of_user: bool) -> "Service":
    """From flags of `mooring up`, which are checked as that command does."""
    from mooring.cli import app
    from mooring.upkeep.service_unit import Service

    command = typer.main.get_command(app).commands["up"]  # type: ignore[attr-defined]  # a group
    with command.make_context("mooring up", list(args), auto_envvar_prefix="MOORING_UP") as ctx:
        given = ctx.params
        data_dir = Path(given["data_dir"]).absolute()
        flags = tuple(_flags(ctx))
    kubeconfig = given["kubeconfig"]
    return Service(
        (os.path.abspath(sys.executable), "-P", "-m", "mooring"),
        (f"--data-dir={data_dir}", *flags),
        data_dir,
        is_of_user=is_of_user,
        has_node=not given["no_node"],
        written=() if kubeconfig is None else (Path(kubeconfig).absolute().parent,),
    )


def _flags(ctx: typer.Context) -> Iterator[str]:
    """What was given, paths made absolute: a service has another directory, and no environment."""
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if param.name == "data_dir" or source is None or source.name not in _GIVEN:
            continue
        value = ctx.params[param.name or ""] if param.name in ctx.params else None
        flag = next(option for option in param.opts if option.startswith("--"))
        if value is True:
            yield flag
        elif value is False:
            yield param.secondary_opts[0]
        else:
            for one in value if isinstance(value, (list, tuple)) else (value,):
                yield f"{flag}={one.absolute() if isinstance(one, Path) else one}"
