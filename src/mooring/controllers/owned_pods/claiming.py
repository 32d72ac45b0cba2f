"""Whose a pod is: which pods count as an owner's, which it adopts, which it releases.

Always true:

- Only a pod without a controller that matches the selector is adopted; one of another owner is left
  alone.
- An owner that is being deleted adopts and releases nothing; a pod that is being deleted is not
  adopted.
"""

from collections.abc import Callable, Iterable

import msgspec

from mooring.controllers.owned_pods.plan import Adopt, Release
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner


class Claimed(msgspec.Struct, frozen=True):
    pods: tuple[Pod, ...]  # the owner's, among them those that it adopts
    steps: tuple[Adopt | Release, ...]


def _anything(_: Pod) -> bool:
    return True


def claim(owner: PodOwner, pods: Iterable[Pod], fits: Callable[[Pod], bool] = _anything) -> Claimed:
    """`fits` is what the owner asks of its pods beyond its selector (their names)."""
    selector = owner.selector()
    kept: list[Pod] = []
    steps: list[Adopt | Release] = []
    for pod in pods:
        controller = pod.metadata.find_controller()
        matches = selector.matches(pod.metadata.labels) and fits(pod)
        if controller is None:
            if matches and not owner.is_deleting and not pod.is_deleting:
                kept.append(pod)
                steps.append(Adopt(owner, pod))
        elif controller.uid == owner.uid:
            if matches:
                kept.append(pod)
            elif not owner.is_deleting:
                steps.append(Release(owner, pod))
    return Claimed(tuple(kept), tuple(steps))


def is_active(pod: Pod) -> bool:
    """Whether it counts as a replica: it has not ended, and is not about to."""
    return not pod.is_finished and not pod.is_deleting
