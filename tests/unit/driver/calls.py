"""A driver without a socket, and the requests that tests make of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.clock import Clock
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.core import Core
from mooring.driver.recover import prepare, recover
from mooring.driver.refusal import CallRefused
from mooring.driver.serve import open_driver, services
from mooring.driver.settings import FREEZE_SECONDS, MIB, DriverSettings, ThinPool
from mooring.errors import HostError
from mooring.host.contract import MountOps
from tests.fakes.clock import VirtualClock
from tests.fakes.mounts import FakeMounts

NODE = "n1"
Mode = csi.VolumeCapability.AccessMode


class Driver:
    """What answers the calls of all services, by their name on the wire: `driver.CreateVolume`."""

    def __init__(
        self,
        state_dir: Path,
        mounts: MountOps | None = None,
        clock: Clock | None = None,
        *,
        max_volumes: int = 0,
        overcommit: float = 1.0,
        node_id: str = NODE,
        freeze_seconds: float = FREEZE_SECONDS,
        pool: ThinPool | None = None,
    ) -> None:
        settings = DriverSettings(
            node_id, state_dir, max_volumes, overcommit, freeze_seconds, pool=pool
        )
        self.core: Core = open_driver(settings, mounts or FakeMounts(), clock or VirtualClock())
        with suppress(HostError):  # as `serving` does, in threads
            prepare(self.core)
        for volume in self.core.state.volumes.all():
            with suppress(HostError):
                recover(self.core, volume)
        self._answering = [each for calls in services(self.core).values() for each in calls]

    def __getattr__(self, name: str) -> Any:
        return next(getattr(each, name) for each in self._answering if hasattr(each, name))

    def make(self, name: str = "data", **more: Any) -> csi.Volume:
        volume: csi.Volume = self.CreateVolume(a_request(name, **more)).volume
        return volume

    def snap(self, volume_id: str, name: str = "snap") -> csi.Snapshot:
        request = csi.CreateSnapshotRequest(source_volume_id=volume_id, name=name)
        snapshot: csi.Snapshot = self.CreateSnapshot(request).snapshot
        return snapshot

    def attach(self, volume_id: str, node_id: str = NODE, **more: Any) -> None:
        readonly = more.pop("readonly", False)
        self.ControllerPublishVolume(
            csi.ControllerPublishVolumeRequest(
                volume_id=volume_id,
                node_id=node_id,
                readonly=readonly,
                volume_capability=a_capability(**more),
            )
        )

    def detach(self, volume_id: str, node_id: str = NODE) -> None:
        request = csi.ControllerUnpublishVolumeRequest(volume_id=volume_id, node_id=node_id)
        self.ControllerUnpublishVolume(request)

    def delete(self, volume_id: str) -> None:
        self.DeleteVolume(csi.DeleteVolumeRequest(volume_id=volume_id))

    def unsnap(self, snapshot_id: str) -> None:
        self.DeleteSnapshot(csi.DeleteSnapshotRequest(snapshot_id=snapshot_id))

    def expand(self, volume_id: str, size: int) -> csi.ControllerExpandVolumeResponse:
        answer: csi.ControllerExpandVolumeResponse = self.ControllerExpandVolume(
            csi.ControllerExpandVolumeRequest(
                volume_id=volume_id, capacity_range=csi.CapacityRange(required_bytes=size)
            )
        )
        return answer

    def modify(self, volume_id: str, **parameters: str) -> None:
        request = csi.ControllerModifyVolumeRequest(
            volume_id=volume_id, mutable_parameters=parameters
        )
        self.ControllerModifyVolume(request)

    def image(self, volume_id: str) -> Path:
        return self.core.state.volumes.image(volume_id)

    def ids(self) -> list[str]:
        listed = self.ListVolumes(csi.ListVolumesRequest())
        return [entry.volume.volume_id for entry in listed.entries]


def a_capability(
    mode: int = Mode.SINGLE_NODE_WRITER,
    fs_type: str = "",
    flags: tuple[str, ...] = (),
    *,
    is_block: bool = False,
) -> csi.VolumeCapability:
    access_mode = Mode(mode=Mode.Mode.Name(mode))
    if is_block:
        block = csi.VolumeCapability.BlockVolume()
        return csi.VolumeCapability(block=block, access_mode=access_mode)
    mount = csi.VolumeCapability.MountVolume(fs_type=fs_type, mount_flags=flags)
    return csi.VolumeCapability(mount=mount, access_mode=access_mode)


def a_request(
    name: str = "data",
    size: int = 16 * MIB,
    limit: int = 0,
    parameters: Mapping[str, str] | None = None,
    *,
    snapshot_id: str = "",
    volume_id: str = "",
    **capability: Any,
) -> csi.CreateVolumeRequest:
    request = csi.CreateVolumeRequest(
        name=name,
        capacity_range=csi.CapacityRange(required_bytes=size, limit_bytes=limit),
        volume_capabilities=[a_capability(**capability)],
        parameters=parameters,
    )
    if snapshot_id:
        request.volume_content_source.snapshot.snapshot_id = snapshot_id
    if volume_id:
        request.volume_content_source.volume.volume_id = volume_id
    return request


@contextmanager
def refused(code: grpc.StatusCode, words: str = "") -> Iterator[None]:
    """What is in the block is refused with this code, and `words` are in the reason."""
    with pytest.raises(CallRefused) as caught:
        yield
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
    assert caught.value.message
