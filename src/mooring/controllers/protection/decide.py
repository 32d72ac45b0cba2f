"""Whether an object needs its finalizer put back, or may lose it now."""

from mooring.controllers.protection.plan import (
    AddFinalizer,
    AskServer,
    Plan,
    RemoveFinalizer,
    TellBlocked,
    plan,
)
from mooring.controllers.protection.view import ClaimView, ClassView, Evidence
from mooring.model.claim import Claim
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer


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
        if frozenset(pod.uid for pod in users) == view.told:
            return plan("pods use it, as people know")
        return plan("pods use it", TellBlocked(claim, users))
    if view.evidence is Evidence.CACHE:
        return plan("no pod in the cache uses it", AskServer(claim))
    return plan("no pod uses it", RemoveFinalizer(claim, Finalizer.CLAIM_PROTECTION))


def decide_volume(volume: Volume) -> Plan:
    """A volume goes unless it is bound."""
    if (settled := _decide_alive(volume, Finalizer.VOLUME_PROTECTION)) is not None:
        return settled
    if volume.is_bound:
        return plan("a claim is bound to it")
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
        if _is_made_for(claim, pod) and not _is_shut_down(pod):
            return True
    return False


def _decide_alive(protected: ApiObject, finalizer: str) -> Plan | None:
    """What to do unless it is ours to let go; that is None."""
    has_finalizer = finalizer in protected.metadata.finalizers
    if not protected.is_deleting:
        return (
            plan("protected")
            if has_finalizer
            else plan("its finalizer is missing", AddFinalizer(protected, finalizer))
        )
    return None if has_finalizer else plan("let go before")


def _is_made_for(claim: Claim, pod: Pod) -> bool:
    owner = claim.metadata.find_controller()
    return owner is not None and owner.uid == pod.uid


def _is_shut_down(pod: Pod) -> bool:
    """Its node is done with it, or someone forced it away.

    It may still be there, held by a finalizer that waits for the claim to go: without this rule
    the two would wait for each other.
    """
    return pod.is_deleting and pod.metadata.deletion_grace_period_seconds == 0
