"""What the protection reconcilers look at, one object at a time."""

from collections.abc import Iterator
from datetime import datetime
from enum import Enum

import msgspec

from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.pod import Pod
from mooring.model.volume import Volume


class Evidence(Enum):
    """Where the pods of a view come from, and so what their absence proves."""

    CACHE = "a pod may exist that is not here yet"
    SERVER = "listed after the claim was seen deleting: these are all"


class ClaimView(msgspec.Struct, frozen=True):
    """A claim and the pods that name it."""

    claim: Claim
    pods: tuple[Pod, ...]
    evidence: Evidence
    recorded: str = ""  # the last event about the pods it waits for


class UsageView(msgspec.Struct, frozen=True):
    """A claim and the pods that name it, whatever became of them."""

    claim: Claim
    pods: tuple[Pod, ...]
    now: datetime


class ClassView(msgspec.Struct, frozen=True):
    """A class of volume attributes and what refers to it."""

    attributes_class: AttributesClass
    volumes: tuple[Volume, ...]
    claims: tuple[Claim, ...]


# How the caches are indexed.


def classes_of_volume(volume: Volume) -> Iterator[str]:
    if volume.spec.volume_attributes_class_name:
        yield volume.spec.volume_attributes_class_name


def classes_of_claim(claim: Claim) -> frozenset[str]:
    """The class it wants, the one it has, and the one it is being changed to."""
    modify = claim.status.modify_volume_status
    named = (
        claim.spec.volume_attributes_class_name,
        claim.status.current_volume_attributes_class_name,
        modify.target_volume_attributes_class_name if modify else None,
    )
    return frozenset(name for name in named if name)
