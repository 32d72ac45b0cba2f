"""`mooring image pull`: one pull, with its progress on standard error."""

import asyncio
from pathlib import Path

import typer

from mooring.clock import Clock, RealClock
from mooring.errors import UsageError
from mooring.node.images import image_pulls, image_store
from mooring.oci import reference
from mooring.oci.contract import StoredImage
from mooring.oci.refused import ImageRefused
from mooring.oci.registry import logins
from mooring.oci.registry.errors import PullFailed
from mooring.oci.registry.logins import Keyring
from mooring.oci.registry.pull import Progress
from mooring.oci.registry.settings import PullSettings
from mooring.oci.store import human_size

TELL_SECONDS = 2.0


def read_keyring(file: Path | None) -> Keyring:
    """Raises: UsageError, which shows nothing of the file."""
    if file is None:
        return Keyring()
    try:
        return Keyring(logins.parse(file.read_bytes()))
    except OSError as error:
        raise UsageError(f"cannot read --creds {file}: {error.strerror}") from error
    except logins.Unreadable as error:
        raise UsageError(f"--creds {file} cannot be used: {error}") from None


async def pull_image(
    node_root: Path, name: str, keyring: Keyring, settings: PullSettings
) -> StoredImage:
    """Raises: ImageRefused, HostError."""
    clock = RealClock()
    wanted = reference.parse(name)
    pulls = image_pulls(image_store(node_root), node_root, settings, clock)
    told: list[Progress] = []
    telling = asyncio.create_task(_tell(told, clock))
    try:
        return (await pulls.pull(wanted, keyring, told.append)).image
    except PullFailed as error:
        raise ImageRefused(f"cannot pull {wanted}: {error}") from error
    finally:
        telling.cancel()
        await asyncio.wait({telling})


async def _tell(told: list[Progress], clock: Clock) -> None:
    """A line now and then, when there is something new to say."""
    last = ""
    while True:
        await clock.sleep(TELL_SECONDS)
        for progress in told:
            line = _line(progress)
            if line and line != last:
                typer.echo(line, err=True)
                last = line


def _line(progress: Progress) -> str:
    if progress.is_unpacking:
        return "unpacking"
    if not progress.total:
        return ""
    return f"{human_size(progress.came)} of {human_size(progress.total)}"
