"""Volumes that are to be there when the driver starts, as disks that somebody made by hand."""

from collections.abc import Iterable

import msgspec

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.controller import VolumeCalls
from mooring.driver.core import Core
from mooring.driver.identifiers import volume_id_of
from mooring.driver.refusal import CallRefused
from mooring.errors import UsageError
from mooring.model import quantity

_Mode = csi.VolumeCapability.AccessMode


class Disk(msgspec.Struct, frozen=True):
    name: str
    size_bytes: int
    fs_type: str = ""  # empty: the driver's default


def parse_disk(text: str) -> Disk:
    """`NAME=SIZE` or `NAME=SIZE:FSTYPE`, as mongodb=1Gi:xfs. Raises: UsageError."""
    name, equals, rest = text.partition("=")
    size, _, fs_type = rest.partition(":")
    try:
        found = Disk(name, quantity.parse(size).bytes_ceil(), fs_type)
        volume_id_of(name)
    except (ValueError, CallRefused) as error:
        raise UsageError(f"--disk {text!r} is not NAME=SIZE, as mongodb=1Gi: {error}") from error
    if not equals or "/" in name:
        raise UsageError(f"--disk {text!r} is not NAME=SIZE, as mongodb=1Gi")
    return found


def make_disks(core: Core, disks: Iterable[Disk]) -> None:
    """Make those that are missing. Blocks. Raises: UsageError."""
    calls = VolumeCalls(core)
    for disk in disks:
        if core.state.volumes.find(volume_id_of(disk.name)) is not None:
            continue
        mount = csi.VolumeCapability.MountVolume(fs_type=disk.fs_type)
        use = csi.VolumeCapability(
            mount=mount, access_mode=_Mode(mode=_Mode.Mode.SINGLE_NODE_WRITER)
        )
        size = csi.CapacityRange(required_bytes=disk.size_bytes)
        request = csi.CreateVolumeRequest(
            name=disk.name, volume_capabilities=[use], capacity_range=size
        )
        try:
            calls.CreateVolume(request)
        except CallRefused as refused:
            raise UsageError(f"the disk {disk.name} cannot be made: {refused.message}") from refused
