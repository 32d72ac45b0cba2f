"""What a role is told on its command line, and where things are when it is told nothing."""

import os
from pathlib import Path

import msgspec

DEFAULT_PORT = 6443
LOOPBACK = "127.0.0.1"


class Config(msgspec.Struct, frozen=True):
    data_dir: Path
    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    names: tuple[str, ...] = ()  # under which clients reach the server, beside the usual ones
    kubeconfig: Path | None = None  # a second place for the admin's kubeconfig

    @property
    def volumes(self) -> Path:
        """Where the volumes are that are made on this machine."""
        return self.data_dir.resolve() / "volumes"

    @property
    def own_kubeconfig(self) -> Path:
        return self.data_dir / "kubeconfig"


def default_data_dir() -> Path:
    """/var/lib/mooring for root, the user's own data directory for everyone else."""
    if os.geteuid() == 0:
        return Path("/var/lib/mooring")
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "mooring"
