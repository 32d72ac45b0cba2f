"""What the reconciler of ephemeral volumes looks at: a pod, and the claims under its names."""

from collections.abc import Callable

import msgspec

from mooring.model.claim import Claim, ClaimTemplate
from mooring.model.keys import Key
from mooring.model.pod import Pod


class Wanted(msgspec.Struct, frozen=True):
    """An ephemeral volume of the pod: the claim it needs, and the one of that name, if any."""

    volume: str
    name: Key
    template: ClaimTemplate
    present: Claim | None


class PodView(msgspec.Struct, frozen=True):
    pod: Pod
    wanted: tuple[Wanted, ...]  # in the order of the pod's volumes


def view(pod: Pod, find_claim: Callable[[Key], Claim | None]) -> PodView:
    wanted = []
    for volume in pod.spec.volumes:
        name = pod.find_claim_name(volume)
        if volume.ephemeral and volume.ephemeral.volume_claim_template and name:
            key = Key(pod.namespace, name)
            template = volume.ephemeral.volume_claim_template
            wanted.append(Wanted(volume.name, key, template, find_claim(key)))
    return PodView(pod, tuple(wanted))


def has_ephemeral_volume(pod: Pod) -> bool:
    return any(volume.ephemeral for volume in pod.spec.volumes)


def needs(pod: Pod, claim: Key) -> bool:
    """Whether this is a claim that is, or is to be, made for the pod."""
    return pod.namespace == claim.namespace and any(
        volume.ephemeral and pod.find_claim_name(volume) == claim.name
        for volume in pod.spec.volumes
    )
