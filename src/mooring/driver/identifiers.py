"""Ids, derived from the names in requests; no id can be a path out of the state directory.

One name always has the same id. So a repeated CreateVolume finds the first one's volume, whatever
was lost in between, and a volume with a damaged record is not created a second time.
"""

import hashlib
import re

from mooring.driver.refusal import INVALID, CallRefused, need

MAX_NAME_BYTES = 128

_VOLUME = re.compile(r"vol-[0-9a-f]{32}")
_SNAPSHOT = re.compile(r"snap-[0-9a-f]{32}")
_GROUP = re.compile(r"group-[0-9a-f]{32}")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # by the specification


def volume_id_of(name: str) -> str:
    """The id of the volume of this name. Raises: CallRefused for an invalid name."""
    return f"vol-{_digest(name)}"


def snapshot_id_of(name: str) -> str:
    return f"snap-{_digest(name)}"


def group_id_of(name: str) -> str:
    return f"group-{_digest(name)}"


def member_id_of(group_id: str, volume_id: str) -> str:
    """The id of the snapshot of a volume in a group; a zero byte is in no name of a snapshot."""
    digest = _hex(f"{group_id}\0{volume_id}".encode())
    return f"snap-{digest}"


def inline_id_of(handle: str) -> str:
    """The id of an inline volume, of which the caller has chosen the handle."""
    digest = _hex(f"inline\0{handle}".encode())
    return f"vol-{digest}"


def is_volume_id(text: str) -> bool:
    """Whether a volume of this id can exist."""
    return _VOLUME.fullmatch(text) is not None


def is_snapshot_id(text: str) -> bool:
    return _SNAPSHOT.fullmatch(text) is not None


def is_group_id(text: str) -> bool:
    return _GROUP.fullmatch(text) is not None


def _digest(name: str) -> str:
    encoded = need(name, "name").encode()
    if len(encoded) > MAX_NAME_BYTES:
        text = f"name has {len(encoded)} bytes, and may have {MAX_NAME_BYTES}"
        raise CallRefused(INVALID, text)
    if _FORBIDDEN.search(name):
        raise CallRefused(INVALID, f"name {name!r} holds control characters")
    return _hex(encoded)


def _hex(encoded: bytes) -> str:
    return hashlib.sha256(encoded).hexdigest()[:32]
