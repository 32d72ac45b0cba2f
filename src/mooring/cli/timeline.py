"""`mooring timeline`: when each step from claim to container happened."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.flags import Kubeconfig
from mooring.errors import UsageError

if TYPE_CHECKING:
    from mooring.timeline.steps import Timeline


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    SVG = "svg"


SubjectName = Annotated[
    str, typer.Argument(metavar="pod/NAME|pvc/NAME", help="Whose.", show_default=False)
]
SecondWord = Annotated[
    str, typer.Argument(metavar="NAME", help="For `pod NAME`.", show_default=False)
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", help="Of the pod or claim.", show_default="that of the kubeconfig"
    ),
]
Shown = Annotated[
    Output, typer.Option("--output", "-o", help="A table, JSON, or a picture to save in a file.")
]


Otlp = Annotated[
    bool,
    typer.Option("--otlp", help="Also send it as spans to $OTEL_EXPORTER_OTLP_ENDPOINT."),
]


def timeline(
    subject: SubjectName,
    name: SecondWord = "",
    namespace: Namespace = "",
    output: Shown = Output.TABLE,
    otlp: Otlp = False,  # noqa: FBT002  a flag of the command line
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show when each step of a pod's or a claim's start happened, and how long it took.

    Claim created, provisioned, bound; pod scheduled; volume attached, staged, published; container
    started. Taken from the objects, their managed fields, events, and the CSI calls that are still
    kept (see `mooring csi trace`). A time with a tilde is known to the second only.

    Example: mooring timeline pod/web -o svg > web.svg
    """
    import json

    from mooring.stack.timeline import read_subject, run_timeline
    from mooring.timeline.show import document, lines, printable
    from mooring.timeline.svg import waterfall

    found = run_timeline(
        kubeconfig, read_subject("/".join(filter(None, (subject, name))), namespace)
    )
    match output:
        case Output.JSON:
            typer.echo(json.dumps(document(found), indent=2))
        case Output.SVG:
            typer.echo(waterfall(found), nl=False)
        case Output.TABLE:
            typer.echo("\n".join(lines(found)))
    if output is not Output.JSON:
        for line in found.unseen:
            typer.echo(f"mooring: not seen: {printable(line)}", err=True)
    if otlp:
        _send(found)


def _send(found: "Timeline") -> None:
    """Raises: MooringError."""
    import os

    from mooring.stack.otlp import ENDPOINTS, is_configured, open_exporter
    from mooring.timeline.spans import spans_of_timeline

    if not is_configured(os.environ):
        raise UsageError(f"--otlp: to whom? Set {ENDPOINTS[1]}")
    open_exporter("mooring-timeline")(list(spans_of_timeline(found)))
