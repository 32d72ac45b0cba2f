"""What the expand controller looks at: a claim and the volume it names."""

import msgspec

from mooring.model.claim import Claim
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Plugin

PLUGINS_BY_SOURCE = {"glusterfs": Plugin.GLUSTERFS, "rbd": Plugin.RBD}


class ClaimView(msgspec.Struct, frozen=True):
    claim: Claim
    volume: Volume | None
    driver_leaves_file_system: bool = True  # to the node, to grow it; by the driver's word

    @property
    def is_annotated(self) -> bool:
        """The volume remembers a smaller size that its file system still had."""
        return (
            self.volume is not None
            and Annotation.PRE_RESIZE_CAPACITY in self.volume.metadata.annotations
        )


def is_bound_to(claim: Claim, volume: Volume) -> bool:
    """Whether the volume points back at this very claim."""
    ref = volume.spec.claim_ref
    return ref is not None and ref.namespace == claim.namespace and ref.uid == claim.uid


def needs_file_system(view: ClaimView, volume: Volume) -> bool:
    """Whether expansion ends only on the node; True for an unknown volume mode too."""
    return view.driver_leaves_file_system and volume.spec.volume_mode is not VolumeMode.BLOCK


def find_local_expander(volume: Volume) -> str | None:
    """The FlexVolume driver or plugin of ours that expands it; None for others."""
    if (flex := volume.spec.flex_volume) is not None:
        return str(flex.get("driver", ""))
    source = volume.spec.find_source()
    return PLUGINS_BY_SOURCE.get(source[0]) if source is not None else None


def wakes(before: Claim | None, after: Claim) -> bool:
    """Whether a change of a claim gives this controller something to do."""
    if not after.is_bound:
        return False
    if before is None or before.uid != after.uid:
        return True
    return after.requested > before.requested or after.capacity > before.capacity
