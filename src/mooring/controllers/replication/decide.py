"""How many pods are missing or too many, whose they are, and what to show of them.

Always true of a plan:

- Pods are either made or deleted, never both, and at most 500 in one pass.
- Only pods that are the controller's own, or that it adopts in the same plan, are deleted; only one
  that fits its selector and has no controller is adopted.
- The pods worth least go first (`owned_pods/deletion_order.py`).
- A controller that is being deleted changes no pod.
- The status is written first: it is true whether or not the rest comes about.
"""

from collections import Counter

from mooring.controllers.owned_pods.claiming import claim
from mooring.controllers.owned_pods.deletion_order import in_deletion_order
from mooring.controllers.owned_pods.plan import MOST_AT_ONCE, CreatePods, DeletePod, pod_of
from mooring.controllers.owned_pods.readiness import is_available, is_ready
from mooring.controllers.replication.plan import Plan, SaveStatus
from mooring.controllers.replication.view import ControllerView
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationControllerStatus
from mooring.model.steps import plan


def decide(view: ControllerView) -> Plan:
    """The status first: it is true whether or not the rest comes about."""
    controller, now = view.controller, view.now
    claimed = claim(controller, view.pods)
    kept, steps = claimed.pods, claimed.steps
    status = _status(view, kept)
    saved = [SaveStatus(controller, status)] if status != controller.status else []
    if controller.is_deleting:
        return plan("it is on its way out", *saved)
    wanted = controller.spec.replicas
    if len(kept) < wanted:
        missing = min(wanted - len(kept), MOST_AT_ONCE)
        made = CreatePods(controller, (pod_of(controller, controller.spec.template),) * missing)
        return plan("pods are missing", *saved, *steps, made)
    if len(kept) > wanted:
        on_node = Counter(pod.spec.node_name for pod in kept)
        least = in_deletion_order(kept, on_node, now)[: min(len(kept) - wanted, MOST_AT_ONCE)]
        gone = [DeletePod(controller, pod) for pod in least]
        return plan("there are too many pods", *saved, *steps, *gone)
    return plan("there are as many pods as wanted", *saved, *steps)


def _status(view: ControllerView, kept: tuple[Pod, ...]) -> ReplicationControllerStatus:
    spec = view.controller.spec
    labels = (spec.template.get("metadata") or {}).get("labels") or {}
    return ReplicationControllerStatus(
        replicas=len(kept),
        fully_labeled_replicas=sum(labels.items() <= pod.metadata.labels.items() for pod in kept),
        ready_replicas=sum(map(is_ready, kept)),
        available_replicas=sum(is_available(pod, spec.min_ready_seconds, view.now) for pod in kept),
        observed_generation=view.controller.metadata.generation,
    )
