"""One image of one pool, and where a node keeps it."""

from pathlib import Path
from typing import Self

import msgspec

from mooring.model.removed_source import RbdSource
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_source import RawSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins import ceph_values
from mooring.plugins.contract import VolumeError
from mooring.plugins.hostile import check_element
from mooring.plugins.layout import Layout

NAME = Plugin.RBD
BETWEEN = "-image-"  # in the name of its directory: `<pool>-image-<image>`
_END = BETWEEN.removesuffix("-")


class RbdImage(msgspec.Struct, frozen=True):
    pool: str
    image: str
    monitors: tuple[str, ...] = ()
    user: str = ""
    keyring: str = ""

    @classmethod
    def of(cls, use: VolumeUse) -> Self:
        """Raises: VolumeError."""
        source = get_source(use)
        check_names(source.pool, source.image)
        ceph_values.check_monitors("rbd.monitors", source.monitors)
        ceph_values.check_user("rbd.user", source.user)
        ceph_values.check_file("rbd.keyring", source.keyring)
        return cls(source.pool, source.image, source.monitors, source.user, source.keyring)

    @classmethod
    def at(cls, directory: Path) -> Self:
        """What the name of a directory tells. Raises: VolumeError."""
        pool, between, image = directory.name.partition(BETWEEN)
        if not (pool and between and image):
            raise VolumeError(f"{directory} does not tell which image it is for")
        return cls(pool, image)

    @property
    def spec(self) -> str:
        return f"{self.pool}/{self.image}"

    @property
    def place(self) -> str:
        """The name of its directory."""
        return f"{self.pool}{BETWEEN}{self.image}"

    def source(self) -> RawSource:
        return {"monitors": list(self.monitors), "pool": self.pool, "image": self.image}


def find_source(use: VolumeUse) -> RbdSource | None:
    raw = None
    if use.inline is not None:
        raw = use.inline.rbd
    elif use.volume is not None:
        raw = use.volume.spec.rbd
    return None if raw is None else msgspec.convert(raw, RbdSource)


def get_source(use: VolumeUse) -> RbdSource:
    """Raises: VolumeError."""
    if (source := find_source(use)) is None:
        raise VolumeError("spec does not reference a RBD volume type")
    return source


def check_names(pool: str, image: str) -> None:
    """Raises: VolumeError."""
    check_element("rbd.pool", pool)
    check_element("rbd.image", image)
    if BETWEEN in pool or pool.endswith(_END):
        text = f"rbd.pool {pool!r} must not hold {BETWEEN!r} nor end with {_END!r}"
        raise VolumeError(f"{text}: its directory would not tell it from the image")


def volume_name(source: RbdSource) -> str:
    """What is behind the volume, for all nodes."""
    return f"{source.pool}:{source.image}"


def is_read_only(use: VolumeUse) -> bool:
    """Of a persistent volume the pod's claim says it, not the volume."""
    return use.read_only if use.inline is None else get_source(use).read_only


def must_be_free(use: VolumeUse) -> bool:
    """Unless all who use it only read, nobody else may have the image mapped."""
    return use.access_modes != (AccessMode.READ_ONLY_MANY,)


def global_mount(layout: Layout, image: RbdImage) -> Path:
    """Where an old kubelet had it, if it is there."""
    old = layout.plugin(NAME) / "rbd" / image.place
    return old if old.is_dir() else layout.global_mount(NAME, image.place)


def global_map(layout: Layout, image: RbdImage) -> Path:
    return layout.global_map(NAME, image.place)
