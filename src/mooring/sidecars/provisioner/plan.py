"""The steps that a plan of the provisioner may hold."""

from typing import Final, TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.claim import Claim
from mooring.model.reference import SecretReference
from mooring.model.steps import Emit, Fail
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer

INTENT: Final = Finalizer.VOLUME_MAY_EXIST
"""A finalizer of claims: CreateVolume was, or is being, called, and its result has no
PersistentVolume yet. It is written before the call. A claim that is deleted meanwhile stays until
the call was repeated and its volume deleted. `record.py` has the annotation that goes with it."""

PROVISIONING: Final = "Provisioning"
SUCCEEDED: Final = "ProvisioningSucceeded"
FAILED: Final = "ProvisioningFailed"
FAILED_DELETE: Final = "VolumeFailedDelete"


class Provision(msgspec.Struct, frozen=True):
    """Have the driver make a volume, and create its PersistentVolume."""

    claim: Claim
    storage_class: StorageClass


class BecomeOwner(msgspec.Struct, frozen=True):
    """No pod has chosen a node, and every node may: choose our own, if it has the room."""

    claim: Claim
    storage_class: StorageClass


class Settle(msgspec.Struct, frozen=True):
    """An unwanted volume may exist: repeat CreateVolume, and delete its result."""

    claim: Claim
    storage_class: StorageClass | None  # None: it is gone, or another driver's by now


class Close(msgspec.Struct, frozen=True):
    """No volume exists without an object: remove the finalizer and the record of the request."""

    claim: Claim


class ReleaseSource(msgspec.Struct, frozen=True):
    """No claim is cloned from this one any more: remove the finalizer that keeps it."""

    claim: Claim


class Later(msgspec.Struct, frozen=True):
    """Look again in so many seconds."""

    seconds: float


ClaimStep = Provision | BecomeOwner | Settle | Close | ReleaseSource | Later | Emit | Fail
ClaimPlan: TypeAlias = steps.Plan[ClaimStep]


class Protect(msgspec.Struct, frozen=True):
    """The object must not go before the volume behind it does."""

    volume: Volume


class Unprotect(msgspec.Struct, frozen=True):
    """The object may go."""

    volume: Volume


class DeleteBehind(msgspec.Struct, frozen=True):
    """Have the driver delete the volume."""

    volume: Volume
    handle: str
    secret: SecretReference | None


class DeleteObject(msgspec.Struct, frozen=True):
    """The driver has deleted the volume: delete its PersistentVolume."""

    volume: Volume


VolumeStep = Protect | Unprotect | DeleteBehind | DeleteObject | Emit | Fail
VolumePlan: TypeAlias = steps.Plan[VolumeStep]
