"""`mooring migrate`: all objects from SQLite to etcd, or back."""

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from mooring.cli.etcd_flags import (
    PREFIX,
    EtcdCaFile,
    EtcdCertFile,
    EtcdKeyFile,
    EtcdPrefix,
    EtcdServers,
    find_etcd,
)
from mooring.cli.flags import DataDir, Level
from mooring.cli.say import say
from mooring.errors import UsageError


class Engine(StrEnum):
    SQLITE = "sqlite"
    ETCD = "etcd"


def migrate(  # noqa: PLR0913, PLR0917  one argument per flag
    data_dir: DataDir,
    source: Annotated[
        Engine,
        typer.Option("--from", envvar="MOORING_MIGRATE_FROM", help="Where the objects are."),
    ],
    to: Annotated[Engine, typer.Option(help="Where they go.")],
    etcd_servers: EtcdServers,
    etcd_cafile: EtcdCaFile = None,
    etcd_certfile: EtcdCertFile = None,
    etcd_keyfile: EtcdKeyFile = None,
    etcd_prefix: EtcdPrefix = PREFIX,
) -> None:
    """Copy all objects between the SQLite database of a data directory and etcd.

    Stop every API server on either first. The copy is read back and compared; nothing is deleted
    at the source, and an interrupted run is finished by the next one.

    Example: mooring migrate --from sqlite --to etcd --etcd-servers https://10.0.0.1:2379
    """
    from mooring import log
    from mooring.clock import RealClock
    from mooring.stack.migrate import to_etcd, to_sqlite

    log.to_stderr(Level.ERROR)
    settings = find_etcd(etcd_servers, etcd_cafile, etcd_certfile, etcd_keyfile, etcd_prefix)
    if settings is None:
        raise UsageError("--etcd-servers: give the addresses of etcd's members")
    if source is to:
        raise UsageError("--from and --to are the same: one is sqlite, the other etcd")
    run = to_etcd if to is Engine.ETCD else to_sqlite
    done = asyncio.run(run(data_dir, settings, RealClock()))
    where = f"etcd under {settings.prefix}" if to is Engine.ETCD else "sqlite"
    say(f"{done.objects} objects are in {where} now, at revision {done.revision}; all compared")
    if done.kept is not None:
        say(f"the old database is kept as {done.kept}")
    else:
        say(f"those in etcd under {settings.prefix} were left as they are")
