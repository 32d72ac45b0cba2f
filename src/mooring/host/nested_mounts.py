"""Mount points inside a volume that its containers cannot write to, made before they start."""

import os
import posixpath
from collections.abc import Iterable
from pathlib import Path

from mooring.errors import HostError
from mooring.host import no_follow
from mooring.host.refusal import reason
from mooring.model.container import Container


def find_nested_mount_points(volume: str, containers: Iterable[Container]) -> tuple[str, ...]:
    """The paths, relative to the root of `volume`, where containers mount other volumes into it.

    A mount point below another one is left out: it lies in that other volume.
    Raises: HostError for a mount path that leaves the container.
    """
    found: dict[str, None] = {}
    for container in containers:
        mounts = sorted((_clean(mount.mount_path), mount.name) for mount in container.volume_mounts)
        for own, name in mounts:
            if name == volume:
                if own.startswith("../"):
                    raise HostError(f"invalid container mount point {own}")
                found.update(dict.fromkeys(_nested(own, [path for path, _ in mounts])))
    return tuple(found)


def make_mount_points(directory: Path, paths: Iterable[str]) -> None:
    """Make directories, mode 0755, for mounts inside the volume at `directory`.

    Before: `directory` exists. Paths are relative, and hold no `..`.
    Repeated: changes nothing.
    Raises: HostError; a link in the way is never followed.
    """
    try:
        root = os.open(directory, no_follow.DIRECTORY)
        try:
            for path in paths:
                with no_follow.descended(root, path, _make_directory):
                    pass
        finally:
            os.close(root)
    except OSError as error:
        text = f"{error.filename}: {reason(error.errno or 0)}"
        raise HostError(f"unable to create nested volume mountpoints: {text}") from error


def _make_directory(parent: int, name: str) -> int:
    return no_follow.make_directory(parent, name, 0o755)


def _nested(own: str, paths: Iterable[str]) -> list[str]:
    """`paths` are sorted, so a parent comes before its children, though not always directly."""
    inside = f"{own}/"
    found: list[str] = []
    for path in paths:
        if path.startswith(inside) and not any(path.startswith(f"{seen}/") for seen in found):
            found.append(path)
    return [path.removeprefix(inside) for path in found]


def _clean(path: str) -> str:
    clean = posixpath.normpath(path)
    return clean[1:] if clean.startswith("//") else clean  # normpath keeps `//` at the start
