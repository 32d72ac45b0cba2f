"""Cutting a copy of a volume while it is in use: nothing half-written gets into it."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from mooring.driver.backends import device
from mooring.driver.backends.freeze import flush, frozen
from mooring.driver.core import Core
from mooring.driver.records import AccessType, VolumeRecord
from mooring.driver.refusal import ABORTED, CallRefused
from mooring.driver.staging import staged_mount


@contextmanager
def standing_still(core: Core, volume: VolumeRecord) -> Iterator[None]:
    """Inside the block, the image has all that was written before, and none of what comes after.

    A mounted file system is frozen, and the record says so first: a driver that dies meanwhile
    thaws it when it comes back. A raw device is only flushed; its user knows what it means.
    The caller holds the volume. Raises: HostError; CallRefused when it is mounted out of reach.
    """
    stage = volume.stage
    if stage is None:
        _check_unused(core, volume)
        yield
    elif stage.use.access_type is AccessType.BLOCK:
        attached = device.find(core.image_of(volume))
        if attached is not None:
            flush(attached)
        yield
    elif stage.use.is_read_only:
        yield
    elif (mount := staged_mount(core, volume)) is None:
        _check_unused(core, volume)
        yield
    else:
        core.state.volumes.replace(msgspec.structs.replace(volume, is_frozen=True))
        try:
            with frozen(mount):
                yield
        finally:
            core.state.volumes.replace(volume)


def _check_unused(core: Core, volume: VolumeRecord) -> None:
    if device.is_in_use(core.image_of(volume)):
        text = f"{volume.id} is still mounted in another mount namespace"
        raise CallRefused(ABORTED, text)
