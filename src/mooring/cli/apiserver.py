"""`mooring apiserver`: the API server alone."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.etcd_flags import (
    PREFIX,
    EtcdCaFile,
    EtcdCertFile,
    EtcdCompactionInterval,
    EtcdKeyFile,
    EtcdPrefix,
    EtcdServers,
    find_etcd,
)
from mooring.cli.flags import (
    HOST,
    PORT,
    RELEASE,
    DataDir,
    Format,
    Gates,
    Host,
    Level,
    LogFormat,
    LogLevel,
    Names,
    Port,
    Release,
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
    kubernetes_version: Release = RELEASE,
    etcd_servers: EtcdServers = "",
    etcd_cafile: EtcdCaFile = None,
    etcd_certfile: EtcdCertFile = None,
    etcd_keyfile: EtcdKeyFile = None,
    etcd_prefix: EtcdPrefix = PREFIX,
    etcd_compaction_interval: EtcdCompactionInterval = 300.0,
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Run the Kubernetes-compatible API server on its embedded SQLite database, or on etcd.

    With --etcd-servers several of them run on one etcd: see docs/etcd.md.
    Other roles reach it with a kubeconfig of their own: see `mooring kubeconfig --help`.
    """
    from mooring.stack.garbage import collect_garbage_seldom

    collect_garbage_seldom()
    from mooring import log
    from mooring.model.feature_gates import parse_gates
    from mooring.model.kubernetes_version import parse_version
    from mooring.stack.config import Config
    from mooring.stack.up import run_apiserver

    log.to_stderr(log_level, log_format)
    config = Config(
        data_dir,
        host,
        port,
        tuple(name),
        kubeconfig,
        etcd=find_etcd(
            etcd_servers,
            etcd_cafile,
            etcd_certfile,
            etcd_keyfile,
            etcd_prefix,
            etcd_compaction_interval,
        ),
        gates=parse_gates(feature_gates),
        release=parse_version(kubernetes_version),
    )
    run_apiserver(config, say)
