"""A volume's whole life on a real machine, through the calls of the bundled driver."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.settings import MIB
from mooring.host import loop_device
from mooring.host.contract import MountOps
from tests.fakes.waiting import until
from tests.host.conftest import loop_devices
from tests.unit.driver.calls import Driver, a_capability

SIZES = {"ext4": 16 * MIB, "xfs": 300 * MIB, "btrfs": 128 * MIB}


def a_machine(place: Path, mounts: MountOps) -> "Machine":
    """A machine for a test; skips where there cannot be one."""
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: there is no /dev/loop-control")
    return Machine(place, mounts)


class Machine:
    """A state directory, a place to stage at and targets; drivers come and go."""

    def __init__(self, place: Path, mounts: MountOps) -> None:
        self.place = place
        self.state = place / "state"
        self.staging = place / "staging"
        self.staging.mkdir(exist_ok=True)
        self._mounts = mounts
        self.driver = self.start()

    def start(self, **settings: Any) -> Driver:
        """A new driver, as after a restart."""
        self.driver = Driver(self.state, self._mounts, **settings)
        return self.driver

    def made(self, fs_type: str, name: str = "data") -> str:
        """The id of a volume for a file system."""
        return self.driver.make(name, size=SIZES[fs_type], fs_type=fs_type).volume_id

    def target(self, name: str = "target") -> Path:
        return self.place / name

    def stage(self, volume_id: str, at: Path | None = None, **capability: Any) -> None:
        self.driver.NodeStageVolume(
            csi.NodeStageVolumeRequest(
                volume_id=volume_id,
                staging_target_path=str(at or self.staging),
                volume_capability=a_capability(**capability),
            )
        )

    def unstage(self, volume_id: str, at: Path | None = None) -> None:
        path = str(at or self.staging)
        request = csi.NodeUnstageVolumeRequest(volume_id=volume_id, staging_target_path=path)
        self.driver.NodeUnstageVolume(request)

    def publish(
        self,
        volume_id: str,
        name: str = "target",
        at: Path | None = None,
        *,
        readonly: bool = False,
        **capability: Any,
    ) -> Path:
        target = self.target(name)
        self.driver.NodePublishVolume(
            csi.NodePublishVolumeRequest(
                volume_id=volume_id,
                staging_target_path=str(at or self.staging),
                target_path=str(target),
                volume_capability=a_capability(**capability),
                readonly=readonly,
            )
        )
        return target

    def publish_inline(self, handle: str, **attributes: str) -> Path:
        """An inline volume, at a target of the same name."""
        target = self.target(handle)
        self.driver.NodePublishVolume(
            csi.NodePublishVolumeRequest(
                volume_id=handle,
                target_path=str(target),
                volume_capability=a_capability(),
                volume_context={"csi.storage.k8s.io/ephemeral": "true", "size": "16Mi"}
                | attributes,
            )
        )
        return target

    def unpublish(self, volume_id: str, name: str = "target") -> None:
        path = str(self.target(name))
        request = csi.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=path)
        self.driver.NodeUnpublishVolume(request)

    def expand(self, volume_id: str, path: Path, size: int = 0) -> int:
        answer = self.driver.NodeExpandVolume(
            csi.NodeExpandVolumeRequest(
                volume_id=volume_id,
                volume_path=str(path),
                capacity_range=csi.CapacityRange(required_bytes=size),
            )
        )
        return int(answer.capacity_bytes)

    def stats(self, volume_id: str, path: Path) -> csi.NodeGetVolumeStatsResponse:
        request = csi.NodeGetVolumeStatsRequest(volume_id=volume_id, volume_path=str(path))
        answer: csi.NodeGetVolumeStatsResponse = self.driver.NodeGetVolumeStats(request)
        return answer

    def put_away(self, volume_id: str, *names: str) -> None:
        for name in names or ("target",):
            self.unpublish(volume_id, name)
        self.unstage(volume_id)

    def devices(self) -> list[str]:
        """The loop devices of this machine's images."""
        self.settle()
        return self._devices()

    def settle(self) -> None:
        """Wait for devices that were let go: a container that starts takes all mounts with it."""
        asyncio.run(
            until(lambda: not any(loop_device.is_going(Path(device)) for device in self._devices()))
        )

    def _devices(self) -> list[str]:
        below = f"{self.place}/"
        return [device for device, backing in loop_devices() if backing.startswith(below)]
