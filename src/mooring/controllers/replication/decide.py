"""How many pods are missing or too many, whose they are, and what to show of them.

Always true of a plan:

- Pods are either made or deleted, never both, and at most 500 in one pass.
- Only pods that are the controller's own, or that it adopts in the same plan, are deleted; only one
  that fits its selector and has no controller is adopted.
- The pods worth least go first: without a node, not running, not ready, the youngest.
- A controller that is being deleted changes no pod.
- The status is written first: it is true whether or not the rest comes about.
"""

from mooring.controllers.replication.plan import (
    Adopt,
    CreatePod,
    DeletePod,
    Plan,
    Release,
    SaveStatus,
    Step,
)
from mooring.controllers.replication.view import ControllerView, is_ready, ready_for
from mooring.model.pod import Pod, PodPhase
from mooring.model.replication_controller import ReplicationControllerStatus
from mooring.model.steps import plan

MOST_AT_ONCE = 500  # pods created or deleted in one pass


def decide(view: ControllerView) -> Plan:
    """The status first: it is true whether or not the rest comes about."""
    controller = view.controller
    kept, steps = _whose(view)
    status = _status(view, kept)
    saved = [SaveStatus(controller, status)] if status != controller.status else []
    if controller.is_deleting:
        return plan("it is on its way out", *saved)
    wanted = controller.spec.replicas
    if len(kept) < wanted:
        missing = min(wanted - len(kept), MOST_AT_ONCE)
        made = [CreatePod(controller) for _ in range(missing)]
        return plan("pods are missing", *saved, *steps, *made)
    if len(kept) > wanted:
        surplus = sorted(kept, key=_worth)[: min(len(kept) - wanted, MOST_AT_ONCE)]
        gone = [DeletePod(controller, pod) for pod in surplus]
        return plan("there are too many pods", *saved, *steps, *gone)
    return plan("there are as many pods as wanted", *saved, *steps)


def seconds_until_available(view: ControllerView) -> float | None:
    """When the next pod will have been ready for long enough; None: nothing is waited for."""
    least = view.controller.spec.min_ready_seconds
    ages = (ready_for(pod, view.now) for pod in view.pods)
    waits = [least - age for age in ages if 0 <= age < least]
    return min(waits, default=None)


def _whose(view: ControllerView) -> tuple[list[Pod], list[Step]]:
    """The pods that count, and what makes them the controller's own or lets them go."""
    controller = view.controller
    kept: list[Pod] = []
    steps: list[Step] = []
    for pod in view.pods:
        owner = pod.metadata.find_controller()
        fits = controller.selects(pod.metadata.labels)
        if owner is None and fits and not controller.is_deleting:
            kept.append(pod)
            steps.append(Adopt(controller, pod))
        elif owner is not None and owner.uid == controller.uid:
            if fits:
                kept.append(pod)
            elif not controller.is_deleting:
                steps.append(Release(controller, pod))
    return kept, steps


def _status(view: ControllerView, kept: list[Pod]) -> ReplicationControllerStatus:
    spec = view.controller.spec
    labels = (spec.template.get("metadata") or {}).get("labels") or {}
    return ReplicationControllerStatus(
        replicas=len(kept),
        fully_labeled_replicas=sum(labels.items() <= pod.metadata.labels.items() for pod in kept),
        ready_replicas=sum(map(is_ready, kept)),
        available_replicas=sum(ready_for(pod, view.now) >= spec.min_ready_seconds for pod in kept),
        observed_generation=view.controller.metadata.generation,
    )


def _worth(pod: Pod) -> tuple[bool, bool, bool, list[int], str]:
    """What a pod is worth: the least goes first, of equals the youngest."""
    created = pod.metadata.creation_timestamp or ""
    return (
        pod.is_scheduled,
        pod.status.phase is PodPhase.RUNNING,
        is_ready(pod),
        [-ord(letter) for letter in created],
        pod.name,
    )
