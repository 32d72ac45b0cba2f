"""The `mooring` command: one command per file. May import `stack`, `model` and below.

A command imports what it runs when it runs, so that `--help` is instant.
"""

import sys
from collections.abc import Iterator

import typer

from mooring.cli import (
    apiserver,
    backup,
    check,
    controllers,
    down,
    driver,
    image,
    kubeconfig,
    node,
    reset,
    restore,
    scheduler,
    sidecar,
    up,
    version,
)
from mooring.errors import MooringError

app = typer.Typer(
    name="mooring",
    help="The Kubernetes storage stack in one process: volumes, claims, classes, CSI.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("up")(up.up)
app.command("down")(down.down)
app.command("reset")(reset.reset)
app.command("backup")(backup.backup)
app.command("check")(check.check)
app.command("restore")(restore.restore)
app.command("apiserver")(apiserver.apiserver)
app.command("controllers")(controllers.controllers)
app.command("scheduler")(scheduler.scheduler)
app.command("node")(node.node)
app.command("driver")(driver.driver)
app.command("sidecar")(sidecar.sidecar)
app.add_typer(image.app, name="image")
app.command("kubeconfig")(kubeconfig.kubeconfig)
app.command("version")(version.version)


def main() -> None:
    """Run a command; what Mooring raises on purpose becomes one line and exit code 1."""
    failed = False
    try:
        app()
    except* MooringError as errors:
        for error in _flat(errors):
            sys.stderr.write(f"mooring: {error}\n")
        failed = True
    if failed:  # not in the block: Python before 3.11.4 puts what is raised there into a group
        sys.exit(1)


def _flat(errors: BaseExceptionGroup[MooringError]) -> Iterator[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flat(error)
        else:
            yield error
