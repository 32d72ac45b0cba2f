"""How pods of this node resolve names, in the words of a kubelet."""

from pathlib import Path

import msgspec


class DnsOptions(msgspec.Struct, frozen=True):
    servers: tuple[str, ...] = ()  # addresses of somebody else's DNS; none: this node's own
    domain: str = "cluster.local"
    resolv_conf: Path = Path("/etc/resolv.conf")  # of the host
