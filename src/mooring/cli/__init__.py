"""The `mooring` command: one command per file. May import `stack`, `model` and below.

A command imports what it runs when it runs, so that `--help` is instant.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from mooring.cli import (
    apiserver,
    backup,
    check,
    controllers,
    csi,
    dashboard,
    down,
    driver,
    image,
    install_service,
    kubeconfig,
    migrate,
    node,
    reset,
    restore,
    scheduler,
    sidecar,
    snapshot,
    timeline,
    token,
    top,
    up,
    version,
    why,
)
from mooring.cli.config_file import configurable
from mooring.cli.csi_trace import printable
from mooring.errors import MooringError


class PlainRefusals(TyperGroup):
    """What is wrong with a value is said once."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # of typer's own parser
            raise


app = typer.Typer(
    name="mooring",
    cls=PlainRefusals,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"auto_envvar_prefix": "MOORING"},
)
app.callback()(version.mooring)
_commands: dict[str, Callable[..., None]] = {
    "up": up.up,
    "down": down.down,
    "reset": reset.reset,
    "backup": backup.backup,
    "restore": restore.restore,
    "migrate": migrate.migrate,
    "check": check.check,
    "apiserver": apiserver.apiserver,
    "controllers": controllers.controllers,
    "scheduler": scheduler.scheduler,
    "node": node.node,
    "driver": driver.driver,
    "sidecar": sidecar.sidecar,
    "kubeconfig": kubeconfig.kubeconfig,
    "timeline": timeline.timeline,
    "dashboard": dashboard.dashboard,
    "top": top.top,
}
for _name, _command in _commands.items():
    app.command(_name)(configurable(_command))
app.command("install-service", context_settings=install_service.CONTEXT)(
    install_service.install_service
)
app.add_typer(csi.app, name="csi")
app.add_typer(image.app, name="image")
app.add_typer(snapshot.app, name="snapshot")
app.add_typer(token.app, name="token")
app.command("version")(version.version)
app.command("why", context_settings=why.CONTEXT)(why.why)
app.command("explain", context_settings=why.CONTEXT, help="The same as `why`.")(why.why)


def main() -> None:
    """Run a command; a `MooringError` becomes one line and exit code 1."""
    failed = False
    try:
        app()
    except* MooringError as errors:
        for error in _flat(errors):
            told = "\n".join(map(printable, error.on_terminal.split("\n")))
            sys.stderr.write(f"mooring: {told}\n")  # drivers and servers are quoted in it
        failed = True
    if failed:  # not inside `except*`, which would wrap the SystemExit before Python 3.11.4
        sys.exit(1)


def _flat(errors: BaseExceptionGroup[MooringError]) -> Iterator[MooringError]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flat(error)
        else:
            yield error
