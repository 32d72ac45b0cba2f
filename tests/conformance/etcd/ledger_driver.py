"""A CSI driver for two sidecars, run as a program with SOCKET, NAME and LEDGER.

Each sidecar has a process of its own, which writes down who asked for what and when, so that it is
known who did it. All are one driver: what they make is named after what was asked for.
"""

import asyncio
import os
import sys
from pathlib import Path
from time import monotonic

import msgspec

from mooring.csi.capability import ControllerCapability, PluginService
from mooring.csi.proto import csi_pb2 as pb
from mooring.testing.csi_state import CsiState
from tests.fakes.csi_driver import FakeCsiDriver, run
from tests.fakes.leaders import Called

NAME = "ledger.csi.mooring.dev"


class LedgerState(CsiState):
    def __init__(self, candidate: str, ledger: Path) -> None:
        super().__init__(name=NAME)
        self.controller = {
            ControllerCapability.CREATE_DELETE_VOLUME,
            ControllerCapability.PUBLISH_UNPUBLISH_VOLUME,
        }
        self.node = set()
        self.plugin = {PluginService.CONTROLLER_SERVICE}
        self.expansion = set()
        self._candidate = candidate
        self._ledger = ledger

    def CreateVolume(self, request: pb.CreateVolumeRequest) -> pb.CreateVolumeResponse:
        self._note("CreateVolume", request.name)
        size = request.capacity_range.required_bytes
        return pb.CreateVolumeResponse(
            volume=pb.Volume(volume_id=request.name, capacity_bytes=size)
        )

    def DeleteVolume(self, request: pb.DeleteVolumeRequest) -> pb.DeleteVolumeResponse:
        self._note("DeleteVolume", request.volume_id)
        return pb.DeleteVolumeResponse()

    def ControllerPublishVolume(
        self, request: pb.ControllerPublishVolumeRequest
    ) -> pb.ControllerPublishVolumeResponse:
        self._note("ControllerPublishVolume", request.volume_id)
        return pb.ControllerPublishVolumeResponse()

    def ControllerUnpublishVolume(
        self, request: pb.ControllerUnpublishVolumeRequest
    ) -> pb.ControllerUnpublishVolumeResponse:
        self._note("ControllerUnpublishVolume", request.volume_id)
        return pb.ControllerUnpublishVolumeResponse()

    def _note(self, rpc: str, volume: str) -> None:
        line = msgspec.json.encode(Called(self._candidate, monotonic(), rpc, volume)) + b"\n"
        handle = os.open(self._ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def read_ledger(ledger: Path) -> list[Called]:
    lines = ledger.read_bytes().splitlines() if ledger.exists() else ()
    return [msgspec.json.decode(line, type=Called) for line in lines]


if __name__ == "__main__":
    socket, candidate, ledger = sys.argv[1:]
    driver = FakeCsiDriver(Path(socket), LedgerState(candidate, Path(ledger)))
    asyncio.run(run(driver, []))
