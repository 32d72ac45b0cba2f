"""`mooring dashboard`: look at the storage of a cluster in a browser."""

from typing import Annotated

import typer

from mooring.cli.flags import Kubeconfig
from mooring.cli.say import say


def dashboard(
    kubeconfig: Kubeconfig = None,
    port: Annotated[
        int, typer.Option(help="Port on this machine; 0 picks a free one.", min=0, max=65535)
    ] = 0,
) -> None:
    """Show what is stuck and why, how full volumes are, and the chain of a claim, in a browser.

    Serves one page on 127.0.0.1, which reads with the rights of the kubeconfig and changes nothing.
    The printed URL works once. On Mooring, the same page is at /ui of `mooring up`.

    Example: mooring dashboard --kubeconfig ~/.kube/config
    """
    from mooring.stack.dashboard import run_dashboard

    run_dashboard(kubeconfig, port, say)
