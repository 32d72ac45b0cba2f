"""Whose a pod is: which pods count as an owner's, which it adopts, which it releases."""

from collections.abc import Callable, Iterable

import msgspec

from mooring.controllers.owned_pods.ownership import split
from mooring.controllers.owned_pods.plan import Adopt, Release
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner


class Claimed(msgspec.Struct, frozen=True):
    pods: tuple[Pod, ...]  # the owner's, among them those that it adopts
    steps: tuple[Adopt | Release, ...]


def claim(
    owner: PodOwner, pods: Iterable[Pod], fits: Callable[[Pod], bool] = lambda _: True
) -> Claimed:
    """`fits` is what the owner asks of its pods beyond its selector (their names)."""
    parts = split(owner, owner.selector(), pods, fits)
    steps: tuple[Adopt | Release, ...] = (
        *(Adopt(owner, pod) for pod in parts.adopted),
        *(Release(owner, pod) for pod in parts.released),
    )
    return Claimed((*parts.kept, *parts.adopted), steps)


def is_active(pod: Pod) -> bool:
    """Whether it counts as a replica: it has not ended, and is not about to."""
    return not pod.is_finished and not pod.is_deleting
