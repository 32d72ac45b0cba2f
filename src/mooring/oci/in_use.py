"""Which images are in use: by the containers on record, and by what is mounted anywhere."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from mooring.oci.index import Image
from mooring.oci.records import ContainerDirectory

_PROC = Path("/proc")


def images_in_use(
    images: Mapping[str, Image], containers: Path | None, proc: Path = _PROC
) -> frozenset[str]:
    """The ids of those of `images` whose layers must stay.

    `containers` is where containers keep their records. An image that is a volume has no record,
    but the mount table has the directories of its layers, which are named by their digests.
    """
    ids = frozenset(_recorded(containers)) if containers else frozenset()
    mounts = b"\n".join(_mount_tables(proc))
    return frozenset(
        key
        for key, image in images.items()
        if key in ids or any(layer.encode() in mounts for layer in image.layers)
    )


def _recorded(containers: Path) -> Iterator[str]:
    try:
        names = os.listdir(containers)
    except FileNotFoundError:
        return
    for name in names:
        record = ContainerDirectory(containers / name).read()
        if record is not None:
            yield record.image_id


def _mount_tables(proc: Path) -> Iterator[bytes]:
    """One for each mount namespace."""
    seen: set[str] = set()
    for process in proc.iterdir():
        if not process.name.isdigit():
            continue
        try:
            namespace = os.readlink(process / "ns" / "mnt")
            if namespace in seen:
                continue
            table = (process / "mountinfo").read_bytes()
        except OSError:
            continue  # it has just ended
        seen.add(namespace)
        yield table
