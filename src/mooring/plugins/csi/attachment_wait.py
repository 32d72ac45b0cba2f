"""The status of a VolumeAttachment, for the controller and the node: done, failed, or not yet.

The texts are upstream's.
"""

from typing import Final

import msgspec

from mooring.model.attachment import Attachment

WAIT_SECONDS: Final = 120.0
"""How long one attempt to attach or detach waits for the driver's attacher."""


class Done(msgspec.Struct, frozen=True):
    """It is as it was asked for."""


class NotYet(msgspec.Struct, frozen=True):
    """Neither attached nor failed; wait for the next change of the object."""


class Failed(msgspec.Struct, frozen=True):
    """The attempt is over; the attacher goes on trying by itself."""

    message: str


Outcome = Done | NotYet | Failed

BEING_DELETED: Final = Failed("volume attachment is being deleted")
DELETED: Final = Failed("volume attachment has been deleted")


def judge_attach(attachment: Attachment) -> Outcome:
    if attachment.is_deleting:
        return BEING_DELETED
    if attachment.is_attached:
        return Done()
    error = attachment.status.attach_error
    return NotYet() if error is None else Failed(error.message)


def judge_detach(attachment: Attachment | None) -> Outcome:
    """Only its disappearance is success. None: it is gone."""
    if attachment is None:
        return Done()
    error = attachment.status.detach_error
    return NotYet() if error is None else Failed(error.message)


def attach_timed_out(driver: str, handle: str) -> Failed:
    return _timed_out(driver, "attach", handle)


def detach_timed_out(driver: str, handle: str) -> Failed:
    """Kubernetes does not know the driver's name here; its text says `unknown`."""
    return _timed_out(driver, "detach", handle)


def _timed_out(driver: str, act: str, handle: str) -> Failed:
    return Failed(
        f"timed out waiting for external-attacher of {driver} CSI driver to {act} volume {handle}"
    )
