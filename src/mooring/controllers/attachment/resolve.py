"""Which volume is behind a volume of a pod, and whether it has to be attached: pure.

Of what is not known yet (a claim that is not bound, a volume that has not arrived) nothing is
concluded: what was known of the pod before stays true.
"""

import msgspec

from mooring.controllers.attachment.volume_name import VolumeName
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_translation.translate import translate, translate_inline
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.csi.attachment_name import CsiName
from mooring.plugins.fc.disk import find_source as find_fc
from mooring.plugins.fc.disk import volume_name as fc_name
from mooring.plugins.flex.names import FlexName
from mooring.plugins.flex.source import find_driver_name
from mooring.plugins.iscsi.disk import find_source as find_iscsi
from mooring.plugins.rbd.image import find_source as find_rbd
from mooring.plugins.rbd.image import volume_name as rbd_name

_SHARED = frozenset({AccessMode.MANY, AccessMode.READ_ONLY_MANY})


class AttachableVolume(msgspec.Struct, frozen=True):
    """A volume that some driver serves, as pods come by it."""

    csi: VolumeName
    label: str  # how people know it: the persistent volume's name
    is_exclusive: bool  # for one node at a time
    is_migrated: bool = False  # an in-tree source that the driver has taken over
    inline_spec: VolumeSpec | None = None  # set when no persistent volume holds its source
    flex: VolumeUse | None = None  # set when a FlexVolume driver attaches it

    @property
    def name(self) -> str:
        return self.csi.unique


class NotAttached(msgspec.Struct, frozen=True):
    """Its driver attaches nothing."""

    driver: str


class NotKnown(msgspec.Struct, frozen=True):
    """Unknown, at least for now."""


class NoCsi(msgspec.Struct, frozen=True):
    """No CSI driver has to do with it."""


Resolved = AttachableVolume | NotAttached | NotKnown | NoCsi


def resolve_inline(volume: PodVolume, namespace: str) -> AttachableVolume | NotAttached | NoCsi:
    """A volume without a claim; `is_attachable` has still to be asked."""
    if volume.csi is not None:
        return NotAttached(volume.csi.driver)
    if volume.flex_volume is not None:
        return _flex_volume(VolumeUse(inline=volume))
    if (in_tree := _in_tree(VolumeUse(inline=volume))) is not None:
        return in_tree
    translated = translate_inline(volume, namespace)
    if translated is None or translated.spec.csi is None:
        return NoCsi()
    return csi_volume(translated, is_migrated=True, inline_spec=translated.spec)


def resolve_claimed(
    pod: Pod, outer: PodVolume, claim: Claim | None, volume: Volume | None
) -> AttachableVolume | NotKnown | NoCsi:
    """A volume behind a claim; `volume` is the one that the claim names."""
    if claim is None or not claim.is_bound or not claim.spec.volume_name or volume is None:
        return NotKnown()
    if outer.ephemeral is not None and not _is_owned(claim, pod):
        return NotKnown()
    reference = volume.spec.claim_ref
    if reference is None or reference.uid != claim.uid:
        return NotKnown()
    if volume.spec.flex_volume is not None:
        return _flex_volume(VolumeUse(volume=volume))
    if (in_tree := _in_tree(VolumeUse(volume=volume))) is not None:
        return in_tree
    translated = translate(volume)
    if translated is None:
        return NoCsi()
    return csi_volume(translated, is_migrated=volume.spec.csi is None)


def needs_attaching(driver: CsiDriver | None) -> bool:
    """Whether this driver's volumes are attached; of a driver that says nothing they are."""
    return driver is None or driver.spec.attach_required


def csi_volume(
    volume: Volume, *, is_migrated: bool, inline_spec: VolumeSpec | None = None
) -> AttachableVolume | NoCsi:
    """`volume` has a CSI source, if it is any of ours."""
    source, modes = volume.spec.csi, volume.spec.access_modes
    if source is None:
        return NoCsi()
    return AttachableVolume(
        CsiName(source.driver, source.volume_handle),
        volume.name,
        is_exclusive=bool(modes) and _SHARED.isdisjoint(modes),
        is_migrated=is_migrated,
        inline_spec=inline_spec,
    )


def _flex_volume(use: VolumeUse) -> AttachableVolume:
    """Inline ones are for as many nodes as want them, as in Kubernetes."""
    modes = use.access_modes
    return AttachableVolume(
        FlexName(find_driver_name(use) or "", use.name),
        use.name,
        is_exclusive=bool(modes) and _SHARED.isdisjoint(modes),
        flex=use,
    )


def _in_tree(use: VolumeUse) -> AttachableVolume | None:
    """A disk that nodes reach by themselves. Inline ones are for as many nodes as want them, as in
    Kubernetes."""
    if (iscsi := find_iscsi(use)) is not None:
        name = CsiName(Plugin.ISCSI, f"{iscsi.target_portal}:{iscsi.iqn}:{iscsi.lun}")
    elif (fc := find_fc(use)) is not None:
        name = CsiName(Plugin.FC, fc_name(fc))
    elif (rbd := find_rbd(use)) is not None:
        name = CsiName(Plugin.RBD, rbd_name(rbd))
    else:
        return None
    modes = use.access_modes
    return AttachableVolume(name, use.name, is_exclusive=bool(modes) and _SHARED.isdisjoint(modes))


def _is_owned(claim: Claim, pod: Pod) -> bool:
    owner = claim.metadata.find_controller()
    return owner is not None and owner.uid == pod.uid and claim.namespace == pod.namespace
