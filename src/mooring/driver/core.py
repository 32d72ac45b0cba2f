"""What all services of a driver share: settings, state, mounts and clock."""

from pathlib import Path

import msgspec

from mooring.clock import Clock
from mooring.driver.backends.contract import Backend, Devices, Images
from mooring.driver.backends.loop import loop_backend
from mooring.driver.identifiers import inline_id_of
from mooring.driver.in_flight import InFlight
from mooring.driver.records import SnapshotRecord, VolumeRecord
from mooring.driver.refusal import NOT_FOUND, CallRefused, need
from mooring.driver.room import Room
from mooring.driver.settings import DriverSettings
from mooring.driver.stagings import Stagings
from mooring.driver.state import State
from mooring.host.contract import MountOps


class Core(msgspec.Struct, frozen=True):
    settings: DriverSettings
    state: State
    room: Room
    in_flight: InFlight
    stagings: Stagings
    mounts: MountOps
    clock: Clock
    backend: Backend

    @property
    def images(self) -> Images:
        return self.backend.images

    @property
    def devices(self) -> Devices:
        return self.backend.devices

    def get_volume(self, identifier: str) -> VolumeRecord:
        """Raises: CallRefused when there is none."""
        volume = self.state.volumes.find(need(identifier, "volume_id"))
        if volume is None:
            raise CallRefused(NOT_FOUND, f"there is no volume {shown(identifier)}")
        return volume

    def find_on_node(self, handle: str) -> VolumeRecord | None:
        """The volume of this id, or the inline volume of this handle."""
        volume = self.state.volumes.find(need(handle, "volume_id"))
        return volume or self.state.volumes.find(inline_id_of(handle))

    def get_on_node(self, handle: str) -> VolumeRecord:
        """Raises: CallRefused when there is none."""
        return self.find_on_node(handle) or self.get_volume(handle)

    def get_snapshot(self, identifier: str) -> SnapshotRecord:
        """Raises: CallRefused when there is none."""
        snapshot = self.state.find_snapshot(need(identifier, "snapshot_id"))
        if snapshot is None:
            raise CallRefused(NOT_FOUND, f"there is no snapshot {shown(identifier)}")
        return snapshot

    def image_of(self, volume: VolumeRecord) -> Path:
        return self.state.volumes.image(volume.id)


def new_core(
    settings: DriverSettings,
    state: State,
    mounts: MountOps,
    clock: Clock,
    backend: Backend | None = None,
) -> Core:
    """With loop devices, unless a backend is given."""
    backend = backend or loop_backend(state.root)
    room = Room(state, settings.overcommit, backend.space)
    return Core(settings, state, room, InFlight(), Stagings(), mounts, clock, backend)


def shown(identifier: str) -> str:
    """An id from a request, quoted and cut for an error text."""
    limit = 80
    text = repr(identifier)
    return text if len(text) <= limit else f"{text[:limit]}..."
