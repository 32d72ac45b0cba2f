"""The steps that a plan of the binder may hold.

A write says what was seen and what is wanted; `effects` sends the difference. The order of steps is
the order of writes: a binder that dies in between leaves a state that the next pass finishes.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.steps import Emit, Fail
from mooring.model.volume import Volume


class Reason(StrEnum):
    """Of the events that the binder records."""

    FAILED_BINDING = "FailedBinding"
    WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
    WAIT_FOR_POD_SCHEDULED = "WaitForPodScheduled"
    VOLUME_MISMATCH = "VolumeMismatch"
    CLAIM_LOST = "ClaimLost"
    CLAIM_MISBOUND = "ClaimMisbound"
    VOLUME_HANDED_OVER = "VolumeHandedOver"
    EXTERNAL_PROVISIONING = "ExternalProvisioning"
    PROVISIONING_FAILED = "ProvisioningFailed"
    PROVISIONING_SUCCEEDED = "ProvisioningSucceeded"
    PROVISIONING_CLEANUP_FAILED = "ProvisioningCleanupFailed"
    VOLUME_DELETE = "VolumeDelete"
    VOLUME_FAILED_DELETE = "VolumeFailedDelete"
    UNKNOWN_RECLAIM_POLICY = "VolumeUnknownReclaimPolicy"
    VOLUME_FAILED_RECYCLE = "VolumeFailedRecycle"
    VOLUME_RECYCLED = "VolumeRecycled"
    RECYCLER_POD = "RecyclerPod"


class SaveVolume(msgspec.Struct, frozen=True):
    """Write what differs, if the volume is still as it was seen."""

    seen: Volume
    wanted: Volume


class SaveClaim(msgspec.Struct, frozen=True):
    """Write what differs, if the claim is still as it was seen."""

    seen: Claim
    wanted: Claim


class AssignClass(msgspec.Struct, frozen=True):
    """Give a claim that named no class the default one; the next pass goes on from there."""

    seen: Claim
    wanted: Claim


class Provision(msgspec.Struct, frozen=True):
    """Start provisioning; `plugin` is empty for an external provisioner."""

    claim: Key
    uid: str
    storage_class: str
    provisioner: str
    plugin: str = ""


class Delete(msgspec.Struct, frozen=True):
    """Start deleting the volume's storage, then the volume.

    An external provisioner deletes its own volumes, when it sees that they are released.
    """

    volume: str
    uid: str
    is_external: bool = False


class Recycle(msgspec.Struct, frozen=True):
    """Start wiping the volume, to be claimed anew."""

    volume: str
    uid: str


class Wake(msgspec.Struct, frozen=True):
    """This claim has something to do."""

    claim: Key


Write = SaveVolume | SaveClaim | AssignClass | Emit | Wake | Fail
"""Done at once."""

Start = Provision | Delete | Recycle
"""A slow operation begins, unless it is under way."""

Step = Write | Start

Plan: TypeAlias = steps.Plan[Step]


def save_volume(seen: Volume, wanted: Volume) -> tuple[Write, ...]:
    """A write, unless there is nothing to write."""
    return () if wanted == seen else (SaveVolume(seen, wanted),)


def save_claim(seen: Claim, wanted: Claim) -> tuple[Write, ...]:
    """A write, unless there is nothing to write."""
    return () if wanted == seen else (SaveClaim(seen, wanted),)
