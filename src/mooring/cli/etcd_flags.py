"""The flags that say where an etcd is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.errors import UsageError

if TYPE_CHECKING:
    from mooring.stack.config import EtcdSettings

PREFIX = "/registry"

EtcdServers = Annotated[
    str,
    typer.Option(
        help="Keep all objects in this etcd, which several API servers share: the addresses of "
        "its members, separated by commas (https://10.0.0.1:2379,...)."
    ),
]
EtcdCaFile = Annotated[
    Path | None, typer.Option("--etcd-cafile", help="The authority of etcd's certificates (PEM).")
]
EtcdCertFile = Annotated[
    Path | None,
    typer.Option("--etcd-certfile", help="The certificate that etcd knows this server by (PEM)."),
]
EtcdKeyFile = Annotated[
    Path | None, typer.Option("--etcd-keyfile", help="The key of --etcd-certfile (PEM).")
]
EtcdPrefix = Annotated[str, typer.Option(help="What all keys in etcd begin with.")]
EtcdCompactionInterval = Annotated[
    float,
    typer.Option(
        help="Seconds between compactions of etcd's history; 0 leaves them to others.", min=0
    ),
]


def find_etcd(
    servers: str,
    ca_file: Path | None,
    cert_file: Path | None,
    key_file: Path | None,
    prefix: str,
    compaction_interval: float = 300.0,
) -> "EtcdSettings | None":
    """None without --etcd-servers. Raises: UsageError."""
    from mooring.stack.config import EtcdSettings

    addresses = tuple(address.strip() for address in servers.split(",") if address.strip())
    if not addresses:
        if ca_file or cert_file or key_file or prefix != PREFIX:
            raise UsageError("the other --etcd flags need --etcd-servers")
        return None
    if not prefix.strip("/"):
        raise UsageError("--etcd-prefix: give a name such as /registry")
    return EtcdSettings(addresses, ca_file, cert_file, key_file, prefix, compaction_interval)
