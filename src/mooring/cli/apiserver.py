"""`mooring apiserver`: the API server alone."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import (
    HOST,
    PORT,
    DataDir,
    Format,
    Host,
    Level,
    LogFormat,
    LogLevel,
    Names,
    Port,
)
from mooring.cli.say import say


def apiserver(
    data_dir: DataDir,
    name: Names,
    port: Port = PORT,
    host: Host = HOST,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Write the admin's kubeconfig here too.")
    ] = None,
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Run the Kubernetes-compatible API server on its embedded SQLite database.

    Other roles reach it with a kubeconfig of their own: see `mooring kubeconfig --help`.
    """
    from mooring.stack.garbage import collect_garbage_seldom

    collect_garbage_seldom()
    from mooring import log
    from mooring.stack.config import Config
    from mooring.stack.up import run_apiserver

    log.to_stderr(log_level, log_format)
    run_apiserver(Config(data_dir, host, port, tuple(name), kubeconfig), say)
