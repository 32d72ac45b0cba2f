"""One Fibre Channel disk: by the ports of its target and its LUN, or by what it calls itself."""

import re
from pathlib import Path
from typing import Self

import msgspec

from mooring.model.volume_source import FcSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import VolumeError
from mooring.plugins.hostile import check_element
from mooring.plugins.layout import DEVICES, Layout

NAME = Plugin.FC


class FcDisk(msgspec.Struct, frozen=True):
    vol_name: str
    wwns: tuple[str, ...] = ()
    lun: int | None = None
    wwids: tuple[str, ...] = ()

    @classmethod
    def of(cls, use: VolumeUse) -> Self:
        """Raises: VolumeError."""
        source = get_source(use)
        by_port = bool(source.target_wwns) and source.lun is not None
        if by_port is bool(source.wwids):
            raise VolumeError("fc: no fc disk information found. failed to make a new mounter")
        for one in (*source.target_wwns, *source.wwids):
            check_element("fc.targetWWNs" if by_port else "fc.wwids", one)
        return cls(use.name, source.target_wwns, source.lun, source.wwids)

    @property
    def place(self) -> str:
        """Its directory, below that of the plugin."""
        if self.wwids:
            return "-".join(wwid.replace(" ", "_") for wwid in self.wwids)
        return f"{'-'.join(self.wwns)}-lun-{self.lun}"

    def is_path(self, link: str) -> bool:
        """Whether a name in /dev/disk/by-path is that of this disk."""
        return any(
            re.fullmatch(rf"(pci-.*-fc|fc)-0x{re.escape(wwn)}-lun-{self.lun}", link)
            for wwn in self.wwns
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """Its names in /dev/disk/by-id."""
        return tuple(f"scsi-{wwid.replace(' ', '_')}" for wwid in self.wwids)

    def source(self) -> FcSource:
        return FcSource(target_wwns=self.wwns, lun=self.lun, wwids=self.wwids)


def find_source(use: VolumeUse) -> FcSource | None:
    if use.inline is not None:
        return use.inline.fc
    return use.volume.spec.fc if use.volume is not None else None


def get_source(use: VolumeUse) -> FcSource:
    """Raises: VolumeError."""
    if (source := find_source(use)) is None:
        raise VolumeError("spec does not reference a FibreChannel volume type")
    return source


def is_read_only(use: VolumeUse) -> bool:
    """Of a persistent volume the pod's claim says it, not the volume."""
    return use.read_only if use.inline is None else get_source(use).read_only


def volume_name(source: FcSource) -> str:
    """In the words of upstream, which prints lists as Go does."""
    if source.target_wwns:
        return f"[{' '.join(source.target_wwns)}]:{source.lun}"
    return f"[{' '.join(source.wwids)}]"


def global_mount(layout: Layout, disk: FcDisk) -> Path:
    return layout.plugin(NAME) / disk.place


def global_map(layout: Layout, disk: FcDisk) -> Path:
    return layout.plugin(NAME) / DEVICES / disk.place
