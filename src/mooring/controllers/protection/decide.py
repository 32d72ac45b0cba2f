"""Whether an object needs its finalizer put back, or may lose it now.

Always true of a plan:

- What is not being deleted keeps its finalizer, or gets it back.
- A claim loses it only if a list of pods, made by the server after the claim was seen deleting,
  holds no scheduled pod that uses it; a cache that holds none only leads to that question.
- A finished pod uses its claims until it is gone; a pod without a node uses none.
- A volume loses it only in a phase that is known, and not Bound.
- A class loses it only if no volume and no claim refers to it: in spec, status or modification.
- A bound claim says in its condition Unused whether a pod refers to it, and since when; nothing is
  written while that stays as it is, nor once the claim is being deleted.
- The pods that a deletion waits for are shown once, and again when they are others.
"""

from mooring.controllers.protection.plan import (
    AddFinalizer,
    AskServer,
    Plan,
    RemoveFinalizer,
    SetConditions,
)
from mooring.controllers.protection.view import ClaimView, ClassView, Evidence, UsageView
from mooring.model.claim import Claim
from mooring.model.claim_use import condition_of_use, is_made_for, is_noted, with_use
from mooring.model.event import EventType
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from mooring.model.steps import Emit, plan
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer

BLOCKED = "DeletionBlocked"
MOST_NAMED = 5


def needs_action(protected: ApiObject, finalizer: str) -> bool:
    """Whether there is anything to decide; most objects most of the time need nothing."""
    return protected.is_deleting == (finalizer in protected.metadata.finalizers)


def decide_claim(view: ClaimView) -> Plan:
    """A claim goes when no scheduled pod uses it, and the server, not a cache, says so."""
    claim = view.claim
    if (settled := _decide_alive(claim, Finalizer.CLAIM_PROTECTION)) is not None:
        return settled
    users = tuple(pod for pod in view.pods if is_used_by(claim, pod))
    if users:
        words = blocked_by(users)
        if words == view.recorded:
            return plan("pods use it, as people know")
        return plan("pods use it", Emit(claim, EventType.NORMAL, BLOCKED, words))
    if view.evidence is Evidence.CACHE:
        return plan("no pod in the cache uses it", AskServer(claim))
    return plan("no pod uses it", RemoveFinalizer(claim, Finalizer.CLAIM_PROTECTION))


def decide_usage(view: UsageView) -> Plan:
    """Say of a bound claim whether a pod that is not finished refers to it, scheduled or not.

    Before it is bound its status is the binder's to write, who notes its use together with that.
    """
    claim = view.claim
    if claim.is_deleting or not claim.is_bound:
        return plan("only the use of bound claims is noted")
    use = condition_of_use(claim, view.pods)
    if is_noted(claim, use):
        return plan("its use is noted")
    conditions = with_use(claim, use, to_seconds(view.now))
    return plan(use.message, SetConditions(claim, conditions))


def decide_volume(volume: Volume) -> Plan:
    """A volume goes unless it is bound, or in a phase that may mean as much."""
    if (settled := _decide_alive(volume, Finalizer.VOLUME_PROTECTION)) is not None:
        return settled
    if volume.is_bound:
        return plan("a claim is bound to it")
    if not volume.status.phase.is_known:
        return plan("nobody here knows what its phase means")
    return plan("no claim is bound to it", RemoveFinalizer(volume, Finalizer.VOLUME_PROTECTION))


def decide_class(view: ClassView) -> Plan:
    """A class goes when no volume and no claim refers to it."""
    chosen = view.attributes_class
    if (settled := _decide_alive(chosen, Finalizer.ATTRIBUTES_CLASS_PROTECTION)) is not None:
        return settled
    if view.volumes or view.claims:
        return plan("volumes or claims refer to it")
    return plan(
        "nothing refers to it", RemoveFinalizer(chosen, Finalizer.ATTRIBUTES_CLASS_PROTECTION)
    )


def is_used_by(claim: Claim, pod: Pod) -> bool:
    """Whether a pod holds the claim.

    A pod without a node does not: no node will start it with a claim that is being deleted. A
    finished pod does until it is gone, for its node may still have the volume mounted.
    """
    if not pod.is_scheduled or pod.namespace != claim.namespace:
        return False
    for volume in pod.spec.volumes:
        if pod.find_claim_name(volume) != claim.name:
            continue
        if volume.persistent_volume_claim is not None:
            return True
        if is_made_for(claim, pod) and not _is_shut_down(pod):
            return True
    return False


def blocked_by(users: tuple[Pod, ...]) -> str:
    """The sentence that names the pods a deletion waits for, or as many as one can read."""
    names = sorted(pod.name for pod in users)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    shown = ", ".join(names[:MOST_NAMED])
    return f"Waiting for pods that use this claim to be deleted: {shown}{more}"


def _decide_alive(protected: ApiObject, finalizer: str) -> Plan | None:
    """The plan for an object that is not being deleted, or without the finalizer; else None."""
    has_finalizer = finalizer in protected.metadata.finalizers
    if not protected.is_deleting:
        return (
            plan("protected")
            if has_finalizer
            else plan("its finalizer is missing", AddFinalizer(protected, finalizer))
        )
    return None if has_finalizer else plan("let go before")


def _is_shut_down(pod: Pod) -> bool:
    """Whether its node has finished it, or it was deleted by force.

    It may still exist, held by a finalizer that waits for the claim's deletion: without this rule
    the two would wait for each other.
    """
    return pod.is_deleting and pod.metadata.deletion_grace_period_seconds == 0
