"""`mooring apiserver`: the API server alone."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import (
    HOST,
    PORT,
    DataDir,
    Format,
    Gates,
    Host,
    Level,
    LogFormat,
    LogLevel,
    Names,
    Port,
)
from mooring.cli.say import say


def apiserver(  # noqa: PLR0913, PLR0917  one argument per flag
    data_dir: DataDir,
    name: Names,
    port: Port = PORT,
    host: Host = HOST,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Write the admin's kubeconfig here too.")
    ] = None,
    feature_gates: Gates = "",
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Run the Kubernetes-compatible API server on its embedded SQLite database.

    Other roles reach it with a kubeconfig of their own: see `mooring kubeconfig --help`.
    """
    from mooring.stack.garbage import collect_garbage_seldom

    collect_garbage_seldom()
    from mooring import log
    from mooring.model.feature_gates import parse_gates
    from mooring.stack.config import Config
    from mooring.stack.up import run_apiserver

    log.to_stderr(log_level, log_format)
    gates = parse_gates(feature_gates)
    run_apiserver(Config(data_dir, host, port, tuple(name), kubeconfig, gates=gates), say)
