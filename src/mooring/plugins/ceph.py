"""What cephfs and rbd share: how a client of Ceph proves who it is.

A key goes into a file that only root can read, and is gone when the command has ended; it is never
an argument, which every user of the machine could see.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mooring.errors import ApiError, ConnectionLost
from mooring.host import command, tree
from mooring.host.command import Finished
from mooring.host.private_file import make_private_directory, write_private
from mooring.host.refusal import refusals
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.reference import SecretReference
from mooring.plugins.contract import NotStarted, VolumeError
from mooring.plugins.volume_host import Host

COMMAND_SECONDS = 120.0
KEY = "key"  # of the secret; of one without it, the only entry counts


class Run(Protocol):
    def __call__(self, *argv: str) -> Finished:
        """Run a program to its end. Raises: HostError."""
        ...


def run(*argv: str) -> Finished:
    return command.run(argv, seconds=COMMAND_SECONDS)


async def read_key(host: Host, ref: SecretReference, pod: Pod) -> str:
    """Raises: NotStarted while the secret is not there; VolumeError."""
    where = Key(ref.namespace or pod.namespace, ref.name)
    try:
        secret = await host.objects.secret(where)
    except (ApiError, ConnectionLost) as error:
        raise NotStarted(f"couldn't get secret {where}: {error}") from error
    entries = {name: value.reveal().decode(errors="replace") for name, value in secret.data.items()}
    return chosen_key(entries, where)


def chosen_key(entries: Mapping[str, str], where: Key) -> str:
    """Raises: VolumeError."""
    chosen = entries.get(KEY)
    if chosen is None and len(entries) == 1:
        chosen = next(iter(entries.values()))
    if chosen is None:
        raise VolumeError(f"secret {where} has no entry {KEY!r}")
    key = chosen.strip()
    if not key or not key.isprintable():
        raise VolumeError(f"the key in secret {where} is empty, or holds control characters")
    return key


@contextmanager
def private_file(directory: Path, name: str, content: str) -> Iterator[Path]:
    """A file for one command. Blocks. Raises: HostError."""
    try:
        with refusals(f"write {directory / name}"):
            make_private_directory(directory)
            write_private(directory / name, content.encode())
        yield directory / name
    finally:
        remove_private(directory)


def remove_private(directory: Path) -> None:
    """What a killed node left, too. Nothing there is a success."""
    if directory.is_dir():
        tree.remove_path(directory)
