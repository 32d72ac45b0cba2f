"""What a resizer looks at: a claim, its volume, and the attributes classes that it names."""

import msgspec

from mooring.model import modification
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.csi_translation.translate import translate
from mooring.model.quantity import Quantity
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation
from mooring.sidecars.driver import Abilities


class SizePause(msgspec.Struct, frozen=True):
    """The driver found this size impossible."""

    size: Quantity
    seconds: float  # before it is asked again


class ClassPause(msgspec.Struct, frozen=True):
    """The driver found this class impossible for the volume."""

    class_uid: str
    seconds: float


class Use(msgspec.Struct, frozen=True):
    """Whether pods on nodes use the claim; of interest where the driver grows none in use."""

    is_in_the_way: bool  # the driver grows no volume in use, by its own word
    is_used: bool | None = False  # None: not known yet


UNUSED = Use(is_in_the_way=False)


class ClaimView(msgspec.Struct, frozen=True):
    driver: str
    abilities: Abilities
    claim: Claim
    volume: Volume | None  # that it names
    wanted_class: AttributesClass | None = None  # that it asks for
    target_class: AttributesClass | None = None  # that is being applied, by its status
    use: Use = UNUSED
    size_pause: SizePause | None = None
    class_pause: ClassPause | None = None
    extra_modify_metadata: bool = False
    default_fs_type: str = ""


def find_source(driver: str, claim: Claim, volume: Volume) -> CsiSource | None:
    """The volume's, if this driver serves it; claims of migrated volumes have to name it."""
    if volume.spec.csi is not None:
        return volume.spec.csi if volume.spec.csi.driver == driver else None
    if claim.metadata.annotations.get(Annotation.RESIZER) != driver:
        return None
    translated = translate(volume)
    source = translated.spec.csi if translated else None
    return source if source is not None and source.driver == driver else None


def is_bound_to(claim: Claim, volume: Volume) -> bool:
    """Whether the volume points back at this very claim, and not at an earlier one of its name."""
    ref = volume.spec.claim_ref
    return (
        claim.is_bound
        and claim.spec.volume_name == volume.name
        and ref is not None
        and (ref.namespace, ref.uid) == (claim.namespace, claim.uid)
    )


def is_open(claim: Claim) -> bool:
    """Whether there may be something to do for it."""
    if not claim.is_bound:
        return False
    return claim.requested > claim.capacity or modification.is_open(claim)


def wakes(before: Claim | None, after: Claim) -> bool:
    """Whether a change needs a look; what a resizer writes itself does not."""
    return before is None or _told(before) != _told(after)


def _told(claim: Claim) -> tuple[object, ...]:
    status = claim.status
    at = status.allocated_resource_statuses.get("storage", "")
    return (
        claim.uid,
        claim.spec,
        claim.is_bound,
        claim.capacity,
        at if at.startswith("Node") else "",
        status.current_volume_attributes_class_name,
        claim.metadata.annotations.get(Annotation.RESIZER),
    )
