"""One LUN of one target, and where a node keeps it."""

import re
from pathlib import Path
from typing import Self

import msgspec

from mooring.model.volume_source import IscsiSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import VolumeError
from mooring.plugins.hostile import check_element
from mooring.plugins.layout import DEVICES, Layout

NAME = Plugin.ISCSI
PORT = 3260

_DIRECTORY = re.compile(r"(?P<portal>.+?)-(?P<iqn>(iqn|eui|naa)\..+)-lun-(?P<lun>\d+)")
_IFACE = "iface-"


class IscsiDisk(msgspec.Struct, frozen=True, rename="pascal"):
    """In JSON as the kubelet keeps it in `iscsi.json`, with one key more."""

    vol_name: str
    portals: tuple[str, ...]
    iqn: str
    lun: str
    init_iface: str
    iface: str
    initiator_name: str = ""
    target_portal: str = ""  # as the user has written it

    @classmethod
    def of(cls, use: VolumeUse) -> Self:
        """Raises: VolumeError."""
        source = get_source(use)
        given = (source.target_portal, *source.portals)
        portals = tuple(dict.fromkeys(with_port(portal) for portal in given))
        iface = source.iscsi_interface
        if source.initiator_name:
            iface = f"{portals[0]}:{use.name}"
        for field, value in (("iqn", source.iqn), ("iscsiInterface", source.iscsi_interface)):
            check_element(f"iscsi.{field}", value)
        for portal in portals:
            check_element("iscsi.targetPortal", portal)
        if source.initiator_name:
            check_element("iscsi.initiatorName", source.initiator_name)
        return cls(
            vol_name=use.name,
            portals=portals,
            iqn=source.iqn,
            lun=str(source.lun),
            init_iface=source.iscsi_interface,
            iface=iface,
            initiator_name=source.initiator_name or "",
            target_portal=source.target_portal,
        )

    @property
    def place(self) -> Path:
        """Of its directory, below that of the plugin."""
        return Path(f"{_IFACE}{self.iface}", f"{self.portals[0]}-{self.iqn}-lun-{self.lun}")

    @property
    def has_own_iface(self) -> bool:
        """Whether its iface was cloned for it alone."""
        return bool(self.initiator_name) and self.iface == f"{self.portals[0]}:{self.vol_name}"

    def source(self) -> IscsiSource:
        portal = self.target_portal or self.portals[0]
        return IscsiSource(
            target_portal=portal,
            iqn=self.iqn,
            lun=int(self.lun),
            iscsi_interface=self.init_iface,
            portals=self.portals[1:],
            initiator_name=self.initiator_name or None,
        )


def find_source(use: VolumeUse) -> IscsiSource | None:
    if use.inline is not None:
        return use.inline.iscsi
    return use.volume.spec.iscsi if use.volume is not None else None


def get_source(use: VolumeUse) -> IscsiSource:
    """Raises: VolumeError."""
    if (source := find_source(use)) is None:
        raise VolumeError("spec does not reference an ISCSI volume type")
    return source


def is_read_only(use: VolumeUse) -> bool:
    """Of a persistent volume the pod's claim says it, not the volume."""
    return use.read_only if use.inline is None else get_source(use).read_only


def with_port(portal: str) -> str:
    """With the port of iSCSI, unless it has one."""
    has_port = ":" in (portal.rpartition("]")[2] if portal.startswith("[") else portal)
    return portal if has_port else f"{portal}:{PORT}"


def global_mount(layout: Layout, disk: IscsiDisk) -> Path:
    return layout.plugin(NAME) / disk.place


def global_map(layout: Layout, disk: IscsiDisk) -> Path:
    return layout.plugin(NAME) / DEVICES / disk.place


def read_place(place: Path, name: str) -> IscsiDisk:
    """What the names of a directory tell: all but further portals. Raises: VolumeError."""
    iface, found = place.parent.name.removeprefix(_IFACE), _DIRECTORY.fullmatch(place.name)
    if found is None or not place.parent.name.startswith(_IFACE):
        raise VolumeError(f"{place} is no directory of an iSCSI volume")
    portal = found["portal"]
    return IscsiDisk(name, (portal,), found["iqn"], found["lun"], iface, iface, "", portal)
