"""`vol_data.json`: what a driver was, or may have been, asked to do at a place.

It is written before the driver is called and removed after the last call, so a node that is
started anew knows from the disk alone which driver to ask. A kubelet writes and reads the same
file. All of it blocks.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from mooring.host.refusal import refusals
from mooring.model.csi_driver import LifecycleMode
from mooring.plugins.contract import VolumeError
from mooring.plugins.csi.source import csi_message
from mooring.plugins.directories import make_directories

NAME: Final = "vol_data.json"
_DRAFT: Final = ".vol_data.json.new"
_MODE: Final = 0o644


class VolumeData(msgspec.Struct, frozen=True, omit_defaults=True):
    """Staged volumes have only driver and handle; `selinux_label` is written by kubelets only."""

    driver: str = msgspec.field(name="driverName")
    handle: str = msgspec.field(name="volumeHandle")
    name: str = msgspec.field(name="specVolID", default="")
    node: str = msgspec.field(name="nodeName", default="")
    attachment: str = msgspec.field(name="attachmentID", default="")
    mode: str = msgspec.field(name="volumeLifecycleMode", default="")
    selinux_label: str = msgspec.field(name="seLinuxMountContext", default="")

    @property
    def is_inline(self) -> bool:
        return self.mode == LifecycleMode.EPHEMERAL


def find(directory: Path) -> VolumeData | None:
    """The data file in `directory`; None when there is none.

    Raises: VolumeError when it cannot be read.
    """
    path = directory / NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = error.strerror
        raise VolumeError(
            csi_message(f"failed to open volume data file [{path}]: {reason}")
        ) from error
    try:
        data = msgspec.json.decode(content, type=VolumeData)
    except msgspec.DecodeError as error:
        raise VolumeError(
            csi_message(f"failed to parse volume data file [{path}]: {error}")
        ) from error
    if not data.driver or not data.handle:
        raise VolumeError(
            csi_message(
                f"failed to parse volume data file [{path}]: it names no driver or no volume"
            )
        )
    return data


def save(directory: Path, data: VolumeData) -> bool:
    """Write it, whole or not at all; whether there was none before.

    What is there and says the same is left alone. Raises: HostError.
    """
    path, draft = directory / NAME, directory / _DRAFT
    content = msgspec.json.encode(data, order="sorted") + b"\n"
    make_directories(directory)
    with refusals(f"write {path}"):
        try:
            before = path.read_bytes()
        except FileNotFoundError:
            before = None
        if before == content:
            return False
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fdatasync(descriptor)  # else a power cut leaves an empty file, and a lost volume
        draft.replace(path)
    return before is None


def remove(directory: Path) -> None:
    """The file, and what an interrupted `save` has left. Nothing there is a success."""
    for name in (_DRAFT, NAME):
        with refusals(f"remove {directory / name}"), suppress(FileNotFoundError):
            (directory / name).unlink()
