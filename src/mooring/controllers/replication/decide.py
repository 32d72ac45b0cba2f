"""How many pods are missing or too many, whose they are, and what to show of them.

Always true of a plan:

- Pods are either made or deleted, never both, and at most 500 in one pass.
- Only pods that are the owner's own, or that it adopts in the same plan, are deleted; only one that
  matches its selector and has no controller is adopted.
- The pods worth least go first (`owned_pods/deletion_order.py`).
- An owner that is being deleted changes no pod.
"""

from collections.abc import Sequence

from mooring.controllers.owned_pods.claiming import claim
from mooring.controllers.owned_pods.deletion_order import in_deletion_order
from mooring.controllers.owned_pods.plan import MOST_AT_ONCE, CreatePods, DeletePod, pod_of
from mooring.controllers.owned_pods.readiness import is_available, is_ready
from mooring.controllers.replication.plan import Failed, Plan
from mooring.controllers.replication.view import ReplicaView
from mooring.model.condition import Condition, set_condition
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet
from mooring.model.replica_status import REPLICA_FAILURE, ReplicaStatus
from mooring.model.steps import plan
from mooring.model.timestamp import to_seconds


def decide(view: ReplicaView) -> Plan:
    owner = view.owner
    if owner.is_deleting:
        return plan("it is being deleted")
    claimed = claim(owner, view.pods)
    surplus = len(claimed.pods) - owner.spec.replicas
    if surplus < 0:
        documents = (pod_of(owner, owner.spec.template),) * min(-surplus, MOST_AT_ONCE)
        return plan("pods are missing", *claimed.steps, CreatePods(owner, documents))
    if surplus > 0:
        least: Sequence[Pod] = claimed.pods
        if owner.spec.replicas:  # when all go, nobody is chosen
            least = in_deletion_order(claimed.pods, view.on_node, view.now)
        gone = (DeletePod(owner, pod) for pod in least[: min(surplus, MOST_AT_ONCE)])
        return plan("there are too many pods", *claimed.steps, *gone)
    return plan("there are as many pods as wanted", *claimed.steps)


def decide_status(view: ReplicaView, failed: Failed | None) -> ReplicaStatus:
    """What there is to show, `failed` being what became of the plan."""
    owner, spec, kept = view.owner, view.owner.spec, claim(view.owner, view.pods).pods
    labels = (spec.template.get("metadata") or {}).get("labels") or {}
    least = spec.min_ready_seconds
    return ReplicaStatus(
        replicas=len(kept),
        fully_labeled_replicas=sum(labels.items() <= pod.metadata.labels.items() for pod in kept),
        ready_replicas=sum(map(is_ready, kept)),
        available_replicas=sum(is_available(pod, least, view.now) for pod in kept),
        terminating_replicas=view.terminating if isinstance(owner, ReplicaSet) else None,
        observed_generation=owner.metadata.generation,
        conditions=_conditions(view, failed),
    )


def _conditions(view: ReplicaView, failed: Failed | None) -> tuple[Condition, ...]:
    present = view.owner.status.conditions
    if failed is None:
        return tuple(each for each in present if each.type != REPLICA_FAILURE)
    told = Condition(
        type=REPLICA_FAILURE, status="True", reason=failed.reason, message=str(failed.error)
    )
    return set_condition(present, told, to_seconds(view.now))
