"""Pods by their owner, and the owners that a pod concerns."""

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner
from mooring.reconcile.informer import Informer

Owner = TypeVar("Owner", bound=PodOwner)

_OWNED = "owned pods: by controller"
_FREE = "owned pods: without a controller, by namespace"
_IN_NAMESPACE = "owned pods: owners by namespace"


class OwnedPods(Generic[Owner]):
    """The pods of the owners of one kind."""

    def __init__(self, owners: Informer[Owner], pods: Informer[Pod]) -> None:
        self._owners = owners
        self._pods = pods
        owners.add_index(_IN_NAMESPACE, _namespace)
        pods.add_index(_OWNED, _controller)
        pods.add_index(_FREE, _free_in)

    def candidates(self, owner: Owner) -> Sequence[Pod]:
        """Its own, and those of its namespace that have no controller."""
        return (*self.of(owner.uid), *self._pods.by_index(_FREE, owner.namespace))

    def of(self, uid: str) -> Sequence[Pod]:
        """Those whose controller has this uid."""
        return self._pods.by_index(_OWNED, uid)

    def concerned(self, before: Pod | None, after: Pod | None) -> Iterator[Key]:
        """The owners that have to look at a change of a pod. Both before and after: a pod may
        change hands, and its former owner has to know."""
        for pod in (before, after):
            if pod is not None:
                yield from self._concerned(pod)

    def _concerned(self, pod: Pod) -> Iterator[Key]:
        reference = pod.metadata.find_controller()
        if reference is not None:
            owner = self._owners.get(Key(pod.namespace, reference.name))
            if owner is not None and owner.uid == reference.uid:
                yield owner.key
            return
        for owner in self._owners.by_index(_IN_NAMESPACE, pod.namespace):
            if owner.selects(pod.metadata.labels):
                yield owner.key


def _namespace(owner: PodOwner) -> list[str]:
    return [owner.namespace]


def _controller(pod: Pod) -> list[str]:
    owner = pod.metadata.find_controller()
    return [] if owner is None else [owner.uid]


def _free_in(pod: Pod) -> list[str]:
    return [pod.namespace] if pod.metadata.find_controller() is None else []
