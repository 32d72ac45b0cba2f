"""The text of a systemd unit that runs `mooring up`. Pure.

The unit gets no mount namespace of its own while it has a node: volumes would be mounted where
neither containers of earlier starts nor the administrator see them. For the same reason there are
no restrictions by seccomp, capabilities or NoNewPrivileges then: containers inherit them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mooring.errors import UsageError

MARK = "# Written by `mooring install-service`, which also rewrites and removes it."
_SPECIAL = frozenset(" \t\"'\\;")


class Service(msgspec.Struct, frozen=True):
    program: tuple[str, ...]  # and its first words: of this installation, by absolute paths
    flags: tuple[str, ...]  # of `mooring up`, --data-dir included
    data_dir: Path
    is_of_user: bool = False
    has_node: bool = True
    written: tuple[Path, ...] = ()  # directories that it writes to beside the data directory


def unit_text(service: Service) -> str:
    """Raises: UsageError when a word cannot be told to systemd."""
    command = " ".join(map(quoted_word, (*service.program, "up", *service.flags)))
    target = "default.target" if service.is_of_user else "multi-user.target"
    lines = [
        MARK,
        "[Unit]",
        "Description=Mooring, the Kubernetes storage stack",
        *_order(service),
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
        f"ExecStart={command}",
        "Restart=on-failure",
        "RestartSec=2",
        "# it answers before it is ready, and says in its status what it waits for",
        "TimeoutStartSec=infinity",
        "TimeoutStopSec=30",
        "# containers go on, and the next start takes them over; `mooring down` ends them",
        "KillMode=process",
        "LimitNOFILE=65536",
        "TasksMax=infinity",
        *_hardening(service),
        "",
        "[Install]",
        f"WantedBy={target}",
    ]
    return "\n".join(lines) + "\n"


def _order(service: Service) -> Iterator[str]:
    if not service.is_of_user:
        yield "Wants=network-online.target"
        yield "After=network-online.target local-fs.target"
        yield f"RequiresMountsFor={quoted(str(service.data_dir))}"


def _hardening(service: Service) -> Sequence[str]:
    if service.is_of_user:  # nothing can be mounted, and no container runs
        return ("NoNewPrivileges=yes", "LockPersonality=yes", "RestrictRealtime=yes")
    if service.has_node:
        return ("KeyringMode=private",)
    paths = " ".join(quoted(f"-{path}") for path in (service.data_dir, *service.written))
    return (
        "KeyringMode=private",
        "NoNewPrivileges=yes",
        "LockPersonality=yes",
        "RestrictRealtime=yes",
        "SystemCallArchitectures=native",
        "PrivateDevices=yes",
        "ProtectClock=yes",
        "ProtectControlGroups=yes",
        "ProtectHostname=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelTunables=yes",
        "ProtectSystem=full",
        f"ReadWritePaths={paths}",
    )


def quoted_word(word: str) -> str:
    """Of a command line, in which systemd replaces variables too. Raises: UsageError."""
    return quoted(word.replace("$", "$$"))


def quoted(word: str) -> str:
    """As systemd reads one word, so that nothing in it is replaced. Raises: UsageError."""
    if not word.isprintable():
        raise UsageError(f"{word!r} cannot stand in a systemd unit: rename it")
    plain = word.replace("%", "%%")
    if plain and not _SPECIAL.intersection(plain):
        return plain
    inside = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'
