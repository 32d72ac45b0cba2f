"""The marks that say on our objects whether a CSI driver has taken over their plugin."""

from collections.abc import Mapping

from msgspec.structs import replace

from mooring.controllers.binding.decide.bind import without
from mooring.model.claim import Claim
from mooring.model.csi_migration import DRIVERS
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Finalizer, Plugin


def anneal_claim(claim: Claim) -> Claim:
    """The claim with the mark that its provisioner calls for."""
    annotations = claim.metadata.annotations
    if Annotation.PROVISIONER in annotations:
        provisioner = annotations[Annotation.PROVISIONER]
    elif Annotation.PROVISIONER_BETA in annotations:
        provisioner = annotations[Annotation.PROVISIONER_BETA]
    else:
        return claim
    marked = _marked(annotations, provisioner)
    if marked is annotations:
        return claim
    return replace(claim, metadata=replace(claim.metadata, annotations=marked))


def anneal_volume(volume: Volume) -> Volume:
    """The volume with the mark and the finalizers that its provisioner calls for.

    Volumes made by hand are left alone, and so are finalizers that are not ours.
    """
    annotations = volume.metadata.annotations
    if Annotation.PROVISIONED_BY not in annotations:
        return volume
    provisioner = volume.provisioned_by
    marked = _marked(annotations, provisioner)
    finalizers = _finalizers(volume, provisioner)
    if marked is annotations and finalizers == volume.metadata.finalizers:
        return volume
    metadata = replace(volume.metadata, annotations=marked, finalizers=finalizers)
    return replace(volume, metadata=metadata)


def _marked(annotations: Mapping[str, str], provisioner: str) -> Mapping[str, str]:
    driver = DRIVERS.get(provisioner)
    if annotations.get(Annotation.MIGRATED_TO) == driver:
        return annotations
    if driver is None:
        return without(annotations, Annotation.MIGRATED_TO)
    return {**annotations, Annotation.MIGRATED_TO: driver}


def _finalizers(volume: Volume, provisioner: str) -> tuple[str, ...]:
    ours, theirs = Finalizer.IN_TREE_PROVISIONER, Finalizer.EXTERNAL_PROVISIONER
    has = volume.metadata.finalizers
    if provisioner in DRIVERS:
        return tuple(name for name in has if name != ours)
    if not provisioner.startswith(Plugin.PREFIX):
        return has
    if not volume.spec.reclaim_policy.is_known:
        return has  # unknown policy: change nothing
    kept = tuple(name for name in has if name != theirs)
    if volume.spec.reclaim_policy is not ReclaimPolicy.DELETE:
        return tuple(name for name in kept if name != ours)
    return kept if ours in kept else (*kept, ours)
