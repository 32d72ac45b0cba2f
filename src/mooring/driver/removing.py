"""Deleting a volume: only when nothing has it open, wherever that may be."""

from mooring import log
from mooring.driver.core import Core
from mooring.driver.in_flight import contents_of
from mooring.driver.records import VolumeRecord
from mooring.driver.refusal import PRECONDITION, CallRefused

_log = log.get("mooring.driver.controller")


def remove_volume(core: Core, volume: VolumeRecord) -> None:
    """Delete the volume, which is not staged. The caller holds it.

    Raises: HostError; CallRefused while it is being copied, or its image is open anywhere.
    """
    with core.in_flight.holding(contents_of(volume.id)):
        _remove(core, volume)


def _remove(core: Core, volume: VolumeRecord) -> None:
    path = core.image_of(volume)
    if core.devices.wait_unmounted(path):
        core.devices.detach_all(path)
        if core.devices.is_soon_closed(path):
            core.state.volumes.remove(volume.id)
            _log.info("volume deleted", volume=volume.id, name=volume.name)
            return
    text = f"{volume.id} is still in use on this node, perhaps in another mount namespace"
    raise CallRefused(PRECONDITION, text)
