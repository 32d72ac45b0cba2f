"""`mooring csi run`: a CSI driver in one command."""

from typing import Annotated

import typer

from mooring.cli.flags import DataDir, Level, LogLevel
from mooring.cli.say import say
from mooring.errors import UsageError

CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}

Program = Annotated[
    list[str],
    typer.Argument(
        metavar="-- PROGRAM ARGS...",
        help="The driver; {endpoint}, {socket} and {node} in its arguments are replaced.",
        show_default=False,
    ),
]
ClassName = Annotated[
    str, typer.Option("--class", help="Name of its StorageClass.", show_default="the driver's name")
]
Parameters = Annotated[
    list[str],
    typer.Option(
        "--parameter",
        help="KEY=VALUE of its StorageClass (repeatable).",
        default_factory=list,
        show_default=False,
    ),
]
NodeId = Annotated[
    str, typer.Option("--node-name", help="What {node} is.", show_default="the host name")
]
Timeout = Annotated[str, typer.Option(help="How long the driver may take until it answers.")]
WithUp = Annotated[bool, typer.Option("--up", help="Start a `mooring up` for it, and end it.")]


def run(  # noqa: PLR0913, PLR0917  one argument per flag
    program: Program,
    data_dir: DataDir,
    parameters: Parameters,
    class_name: ClassName = "",
    node_name: NodeId = "",
    timeout: Timeout = "60s",
    up: WithUp = False,  # noqa: FBT002  a flag of the command line
    log_level: LogLevel = Level.WARNING,
) -> None:
    """Run a CSI driver beside `mooring up`, for as long as this command runs.

    Makes a directory for its socket, starts it with $CSI_ENDPOINT set, registers it with the node,
    which serves its sidecars, and makes its CSIDriver and classes out of its capabilities. A driver
    that dies is started again. Ctrl-C undoes all of it; volumes are not deleted.

    Example: mooring csi run -- ./hostpathplugin --endpoint {endpoint} --nodeid {node}
    """
    from mooring import log
    from mooring.csi.call_query import read_duration
    from mooring.stack.config import get_node_name
    from mooring.stack.csi_run import RunWish, run_driver_here

    log.to_stderr(log_level.value)
    pairs = {}
    for pair in parameters:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"--parameter {pair}: give KEY=VALUE")
        pairs[key] = value
    wish = RunWish(
        tuple(program),
        data_dir,
        get_node_name(node_name),
        class_name,
        pairs,
        read_duration("--timeout", timeout),
        up,
    )
    run_driver_here(wish, say)
