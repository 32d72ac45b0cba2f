"""Which volume a device mount is of: its name alone does not tell, as pods choose theirs. Blocks.

An inline volume may have the name of another pod's, or of a persistent volume. Whoever is given the
device mount has to have the same options: who may write these may have that volume anyway.
"""

import hashlib
import json
from pathlib import Path

from mooring.host.private_file import write_private
from mooring.host.refusal import refusals
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import VolumeError
from mooring.plugins.flex.source import source_of


def write(target: Path, use: VolumeUse) -> None:
    """Before it is mounted there."""
    with refusals(f"write {_beside(target)}"):
        write_private(_beside(target), _digest(use).encode())


def check(target: Path, use: VolumeUse) -> None:
    """What a kubelet has mounted has no record. Raises: VolumeError when it is another volume."""
    with refusals(f"read {_beside(target)}"):
        try:
            known = _beside(target).read_text()
        except FileNotFoundError:
            return
    if known != _digest(use):
        text = f"another volume of the name {use.name} is mounted on this node, with other options"
        raise VolumeError(f"{text}: choose another name for this one")


def remove(target: Path) -> None:
    """Repeated: success."""
    with refusals(f"remove {_beside(target)}"):
        _beside(target).unlink(missing_ok=True)


def _digest(use: VolumeUse) -> str:
    """Not the options themselves, which are nobody else's business."""
    options = json.dumps(dict(source_of(use).options or {}), sort_keys=True)
    return hashlib.sha256(options.encode()).hexdigest()


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.sha256")
