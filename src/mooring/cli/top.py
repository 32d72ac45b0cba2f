"""`mooring top`: how full volumes are."""

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from mooring.cli.flags import Kubeconfig
from mooring.errors import UsageError
from mooring.top.rows import Row, Subject


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


def top(
    subject: Annotated[
        Subject, typer.Argument(metavar="[pvc|pod|node]", help="One line per claim, pod or node.")
    ] = Subject.PVC,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Of one only.", show_default="all")
    ] = "",
    watch: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option("--watch", "-w", help="Show bars, and go on reading.")
    ] = False,
    interval: Annotated[
        float, typer.Option(help="Seconds between two readings of --watch.", min=1)
    ] = 5,
    output: Annotated[Output, typer.Option("--output", "-o", help="How it is printed.")] = (
        Output.TABLE
    ),
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show how full volumes are, the fullest first; on Mooring and on any Kubernetes cluster.

    Asks the kubelets for their summaries through the API server, for which the right to get
    nodes/proxy is needed. They measure the volumes of running pods, about once a minute: a claim
    that no pod uses is not listed.

    Example: mooring top pvc -n team --watch
    """
    from mooring.stack.top import Wish, run_live, run_once
    from mooring.top.told import table, to_json, unseen_lines

    wish = Wish(subject, namespace)
    if watch:
        if output is Output.JSON:
            raise UsageError("--watch draws bars for people: give either --watch or -o json")
        from rich.console import Console

        console = Console()
        if not console.is_terminal:
            raise UsageError("--watch needs a terminal; without one, leave it out")
        run_live(kubeconfig, wish, interval, console)
        return

    def show(rows: Sequence[Row], unseen: Mapping[str, str]) -> None:
        if output is Output.JSON:
            typer.echo(to_json(subject, rows, unseen))
            return
        for line in table(subject, rows):
            typer.echo(line)
        if not rows:
            typer.echo("no volume of a running pod has been measured", err=True)
        for line in unseen_lines(unseen):
            sys.stderr.write(f"mooring: {line}\n")

    run_once(kubeconfig, wish, show)
