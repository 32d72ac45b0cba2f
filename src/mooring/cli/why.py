"""`mooring why`: what an object waits for, and what helps."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def why(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="[KIND/NAME]",
            help="What to explain: pvc/data, pod/web-0, pv/disk, node/n1, volumeattachment/csi-..., "
            "volumesnapshot/nightly, storageclass/fast, csidriver/...",
            show_default=False,
        ),
    ] = "",
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", "-n", help="Where it is.", show_default="that of the kubeconfig"
        ),
    ] = "",
    kubeconfig: Annotated[
        Path | None,
        typer.Option(help="How to reach the API server; without it $KUBECONFIG, then ~/.kube."),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="For people, or for programs.")
    ] = Output.TEXT,
    names_all: Annotated[  # noqa: FBT002  a flag of the command line
        bool, typer.Option("--all", help="Name every volume and node that does not fit.")
    ] = False,
    watch: Annotated[  # noqa: FBT002  a flag of the command line
        bool,
        typer.Option("--watch", "-w", help="Say it again whenever it changes, until it is fine."),
    ] = False,
    all_stuck: Annotated[  # noqa: FBT002  a flag of the command line
        bool,
        typer.Option(
            "--all-stuck", help="Explain all that waits, of a namespace (-n) or the cluster."
        ),
    ] = False,
) -> None:
    """Explain why a claim, volume, pod, attachment, node, snapshot, class or driver waits.

    Nothing is changed; objects are read with your own rights, on any Kubernetes cluster. The exit
    code is 0 when it is fine, 1 while it waits, 2 when it is broken or cannot be seen.

    Example: mooring why pvc/data -n shop
    """
    from mooring.why.ask import Question, ask

    question = Question(
        subject=subject,
        namespace=namespace,
        kubeconfig=kubeconfig,
        is_json=output is Output.JSON,
        names_all=names_all,
        watches=watch,
        all_stuck=all_stuck,
    )
    raise typer.Exit(ask(question, typer.echo))


def kubectl_why() -> None:
    """`kubectl why`: the same, found by kubectl as a plugin."""
    from mooring.cli import run

    app = typer.Typer(
        name="kubectl-why",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        add_completion=False,
    )
    app.command()(why)
    run(app)
