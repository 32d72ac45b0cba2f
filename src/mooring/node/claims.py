"""Which volume is behind a volume of a pod: pure, over the objects as they were just read.

The texts are those that Kubernetes' users know.
"""

from mooring.model.claim import Claim, ClaimPhase
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Finalizer
from mooring.plugins.contract import VolumeError


class Unusable(VolumeError):
    """The pod cannot have this volume now; the text says why."""


def check_claim(pod: Pod, outer: PodVolume, claim: Claim) -> str:
    """The name of the volume behind the claim. Raises: Unusable."""
    if claim.is_deleting and Finalizer.CLAIM_PROTECTION not in claim.metadata.finalizers:
        raise unusable_claim(pod, claim.name, "PVC is being deleted")
    if claim.status.phase is not ClaimPhase.BOUND:
        raise unusable_claim(pod, claim.name, "PVC is not bound")
    if not claim.spec.volume_name:
        raise unusable_claim(pod, claim.name, "PVC has empty pvc.Spec.VolumeName")
    if outer.ephemeral is not None and not _is_owned(claim, pod):
        raise Unusable(
            f"PVC {claim.namespace}/{claim.name} was not created for pod "
            f"{pod.namespace}/{pod.name} (pod is not owner)"
        )
    return claim.spec.volume_name


def check_volume(pod: Pod, claim: Claim, volume: Volume) -> None:
    """Raises: Unusable when the volume does not serve this very claim."""
    reference = volume.spec.claim_ref
    if reference is None:
        raise unusable_claim(
            pod,
            claim.name,
            f"found PV object {volume.name} but it has a nil pv.Spec.ClaimRef indicating it is "
            "not yet bound to the claim",
        )
    if reference.uid != claim.uid:
        raise unusable_claim(
            pod,
            claim.name,
            f"found PV object {volume.name} but its pv.Spec.ClaimRef.UID {reference.uid} does not "
            f"point to claim.UID {claim.uid}",
        )


def use_of_claim(outer: PodVolume, volume: Volume) -> VolumeUse:
    source = outer.persistent_volume_claim
    return VolumeUse(volume=volume, read_only=source is not None and source.read_only)


def check_mode(pod: Pod, outer: PodVolume, use: VolumeUse) -> None:
    """Raises: Unusable when containers take the volume for files and it is a device, or so."""
    if outer.name in mounted_names(pod) and use.mode is not VolumeMode.FILESYSTEM:
        raise Unusable(
            f"volume {outer.name} has volumeMode {use.mode}, but is specified in volumeMounts"
        )
    if outer.name in mapped_names(pod) and use.mode is not VolumeMode.BLOCK:
        raise Unusable(
            f"volume {outer.name} has volumeMode {use.mode}, but is specified in volumeDevices"
        )


def used_names(pod: Pod) -> frozenset[str]:
    """The volumes that some container of the pod really uses."""
    return mounted_names(pod) | mapped_names(pod)


def mounted_names(pod: Pod) -> frozenset[str]:
    return frozenset(mount.name for one in pod.spec.all_containers for mount in one.volume_mounts)


def mapped_names(pod: Pod) -> frozenset[str]:
    return frozenset(
        device.name for one in pod.spec.all_containers for device in one.volume_devices
    )


def unusable_claim(pod: Pod, claim_name: str, why: str) -> Unusable:
    return Unusable(f"error processing PVC {pod.namespace}/{claim_name}: {why}")


def _is_owned(claim: Claim, pod: Pod) -> bool:
    owner = claim.metadata.find_controller()
    return owner is not None and owner.uid == pod.uid and claim.namespace == pod.namespace
