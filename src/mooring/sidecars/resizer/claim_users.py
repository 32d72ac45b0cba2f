"""Which claims are used by pods, for drivers that grow no volume in use.

Pods are watched in the namespaces of such claims, and not before there is one: in a process of its
own a resizer would otherwise hold every pod of the cluster.
"""

from collections.abc import Callable, Iterable
from typing import Final

from mooring.client.contract import Scope
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.shared_informer import Selection

BY_CLAIM: Final = "claim"


class ClaimUsers:
    def __init__(self, loops: Loops, freed: Callable[[Key], None]) -> None:
        self._loops = loops
        self._freed = freed  # called with claims that a pod has ceased to use
        self._pods: dict[str, Informer[Pod]] = {}  # by namespace

    def is_used(self, claim: Claim) -> bool | None:
        """Whether a pod on a node may have it mounted; None: not known yet."""
        pods = self._pods.get(claim.namespace) or self._watch(claim.namespace)
        if not pods.synced.is_set():
            return None
        return any(uses(pod) for pod in pods.by_index(BY_CLAIM, claim.key))

    def _watch(self, namespace: str) -> Informer[Pod]:
        there: Selection[Pod] = Selection(Scope(namespace), lambda pod: pod.namespace == namespace)
        pods = self._pods[namespace] = self._loops.informer(Pod, there)
        pods.add_index(BY_CLAIM, _claims)
        pods.on_change(self._on_pod)
        return pods

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None and uses(before) and (after is None or not uses(after)):
            for key in before.claim_keys():
                self._freed(key)


def uses(pod: Pod) -> bool:
    """A pod that is on no node yet mounts nothing."""
    return pod.is_scheduled and not pod.is_finished


def _claims(pod: Pod) -> Iterable[Key]:
    return pod.claim_keys()
