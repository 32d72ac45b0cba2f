"""The claims of a pod: whether they are there at all, and which of them still need a volume."""

import msgspec

from mooring.model.claim import Claim, ClaimPhase
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Refused
from mooring.scheduling.view import Storage

UNBOUND_IMMEDIATE = Refused(("pod has unbound immediate PersistentVolumeClaims",))


class PodClaims(msgspec.Struct, frozen=True):
    bound: tuple[Claim, ...] = ()
    waiting: tuple[Claim, ...] = ()  # for a pod to have a node


def is_fully_bound(claim: Claim) -> bool:
    """Both sides are written; the phase is for people."""
    return bool(claim.spec.volume_name) and claim.is_bind_completed


def sort_claims(storage: Storage, pod: Pod) -> PodClaims | Refused:
    """None of them may be missing, dying, lost, or late without the scheduler's being asked."""
    found: dict[Key, Claim] = {}
    for volume in pod.spec.volumes:
        name = pod.find_claim_name(volume)
        if name is None:
            continue
        key = Key(pod.namespace, name)
        claim = storage.find_claim(key)
        why = _trouble(pod, name, claim, is_ephemeral=volume.ephemeral is not None)
        if claim is None or why:
            return Refused((why,))
        found[key] = claim
    bound = tuple(claim for claim in found.values() if is_fully_bound(claim))
    unbound = [claim for claim in found.values() if not is_fully_bound(claim)]
    if not all(_waits(storage, claim) for claim in unbound):
        return UNBOUND_IMMEDIATE
    return PodClaims(bound, tuple(unbound))


def find_lack(storage: Storage, pod: Pod) -> Refused | None:
    """What the pod's claims still lack, for which no node will do: others are at work on it."""
    claims = sort_claims(storage, pod)
    if isinstance(claims, Refused):
        return claims
    for claim in claims.bound:
        name = claim.spec.volume_name
        if storage.find_volume(name) is None:
            return Refused((f'persistentvolume "{name}" not found',))
    return None


def _trouble(pod: Pod, name: str, claim: Claim | None, *, is_ephemeral: bool) -> str:
    if claim is None:
        if is_ephemeral:
            return (
                "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                f'"{name}"'
            )
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase is ClaimPhase.LOST:
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim.is_deleting:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if is_ephemeral and not _is_owner(pod, claim):
        return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
    return ""


def _is_owner(pod: Pod, claim: Claim) -> bool:
    owner = claim.metadata.find_controller()
    return owner is not None and owner.uid == pod.uid


def _waits(storage: Storage, claim: Claim) -> bool:
    """Whether it is unbound, and its class leaves the choice to the scheduler."""
    name = claim.storage_class
    storage_class = storage.find_class(name) if name else None
    return (
        storage_class is not None
        and storage_class.waits_for_consumer
        and not claim.spec.volume_name
    )
