"""Which claims a pod's ephemeral volumes still need.

Always true of a plan:

- A claim is made only under an unused name, and is owned by the pod.
- A claim of that name that was not made for this pod is never used: the plan ends there, with an
  event and a later try. It may hold other data.
- A pod that is being deleted gets no claims.
- Claims are made in the order of the pod's volumes.
"""

from mooring.controllers.ephemeral.plan import CreateClaim, Plan, Step, refuse
from mooring.controllers.ephemeral.view import PodView
from mooring.model.claim import Claim
from mooring.model.pod import Pod
from mooring.model.steps import plan


def decide(view: PodView) -> Plan:
    """Volumes in their order; the first that cannot be had ends the plan."""
    pod = view.pod
    if pod.is_deleting:
        return plan("the pod is on its way out")
    steps: list[Step] = []
    for wanted in view.wanted:
        if wanted.present is None:
            steps.append(CreateClaim(pod, wanted.volume, wanted.name, wanted.template))
        elif not is_made_for(wanted.present, pod):
            refusal = refuse(pod, wanted.volume, _foreign(wanted.present, pod))
            return plan("a claim of that name belongs to somebody else", *steps, *refusal)
    return plan("claims are missing" if steps else "it has all its claims", *steps)


def is_made_for(claim: Claim, pod: Pod) -> bool:
    """Whether using this claim for the pod is right: one of the same name may hold other data."""
    owner = claim.metadata.find_controller()
    return claim.namespace == pod.namespace and owner is not None and owner.uid == pod.uid


def _foreign(claim: Claim, pod: Pod) -> str:
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
