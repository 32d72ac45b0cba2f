"""Whether a pod uses a claim, as the claim's condition `Unused` says of bound ones since 1.37.

The binder writes it together with the phase Bound, the protection of claims from then on.
"""

from collections.abc import Iterable

from mooring.model.claim import Claim
from mooring.model.condition import Condition, find_condition, set_condition
from mooring.model.pod import Pod

UNUSED = "Unused"
_A_POD = Condition(UNUSED, "False", "PodUsingPVC", "A pod is currently referencing this PVC")
_NO_POD = Condition(UNUSED, "True", "NoPodsUsingPVC", "No pods are currently referencing this PVC")


def condition_of_use(claim: Claim, pods: Iterable[Pod]) -> Condition:
    """By whether one of `pods` refers to it, scheduled or not, that is not finished."""
    is_used = any(_refers_to(pod, claim) for pod in pods)
    return _A_POD if is_used else _NO_POD


def is_noted(claim: Claim, use: Condition) -> bool:
    known = find_condition(claim.status.conditions, UNUSED)
    return known is not None and known.is_true == use.is_true


def with_use(claim: Claim, use: Condition, now: str) -> tuple[Condition, ...]:
    """The claim's conditions, this one among them; the same tuple when it is noted already."""
    if is_noted(claim, use):
        return claim.status.conditions
    return set_condition(claim.status.conditions, use, now)


def is_made_for(claim: Claim, pod: Pod) -> bool:
    """Whether it is of an ephemeral volume of this pod."""
    owner = claim.metadata.find_controller()
    return owner is not None and owner.uid == pod.uid


def _refers_to(pod: Pod, claim: Claim) -> bool:
    if pod.is_terminated or pod.namespace != claim.namespace:
        return False
    return any(
        pod.find_claim_name(volume) == claim.name
        and (volume.persistent_volume_claim is not None or is_made_for(claim, pod))
        for volume in pod.spec.volumes
    )
