"""The index of pods by the claims they use, which several roles of a process share."""

from collections.abc import Sequence
from typing import Final

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer

_PODS_BY_CLAIM: Final = "pods by claim"


def index_by_claim(pods: Informer[Pod]) -> None:
    """Needed once, before `pods_using`; it is kept once, however many roles ask for it."""
    pods.add_index(_PODS_BY_CLAIM, Pod.claim_keys)


def pods_using(pods: Informer[Pod], claim: Key) -> Sequence[Pod]:
    """The pods that name this claim, and the one that it was made for."""
    return pods.by_index(_PODS_BY_CLAIM, claim)
