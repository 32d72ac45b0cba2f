"""The limits of a volume, set on its devices while it is staged."""

from mooring import log
from mooring.driver.backends import io_limits
from mooring.driver.backends.device import number_of
from mooring.driver.core import Core
from mooring.driver.records import NoLimits, VolumeRecord

_log = log.get("mooring.driver.limits")


def apply_limits(core: Core, volume: VolumeRecord) -> None:
    """Set them on all devices of the volume; a machine that cannot is told of in the log.

    Also without limits: the device may still have those of the volume before. Raises: HostError.
    """
    numbers = _numbers(core, volume)
    if not numbers:
        return
    because = io_limits.set_limits(numbers, volume.limits)
    if because and volume.limits != NoLimits:
        _log.warning("limits are recorded, and not enforced", volume=volume.id, because=because)


def clear_limits(core: Core, volume: VolumeRecord) -> None:
    """Before its devices are detached: their next image has other limits. Raises: HostError."""
    if volume.limits != NoLimits and (numbers := _numbers(core, volume)):
        io_limits.set_limits(numbers, NoLimits)


def _numbers(core: Core, volume: VolumeRecord) -> list[int]:
    found = map(number_of, core.devices.find_all(core.image_of(volume)))
    return [number for number in found if number is not None]
