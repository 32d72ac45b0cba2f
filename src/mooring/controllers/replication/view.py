"""The view of one replica set: its pods, those it may adopt, those of its siblings, the time."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from mooring.controllers.owned_pods.claiming import is_active
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet
from mooring.model.replication_controller import ReplicationController

Replicated = ReplicaSet | ReplicationController


class ReplicaView(msgspec.Struct, frozen=True):
    owner: Replicated
    pods: tuple[Pod, ...]  # active ones: its own, and those without a controller
    terminating: int  # its own that are being deleted, and still there
    on_node: Mapping[str, int]  # active pods of the same deployment, by node
    now: datetime


def view(
    owner: Replicated,
    candidates: Sequence[Pod],
    siblings: Iterable[Pod],
    doomed: Iterable[str],
    now: datetime,
) -> ReplicaView:
    """`siblings` are the pods of all replica sets of its deployment; `doomed` are uids of pods
    whose deletion was asked for, though that is not seen yet."""
    going = frozenset(doomed)

    def counts(pod: Pod) -> bool:
        return is_active(pod) and pod.uid not in going

    leaving = [pod for pod in candidates if not pod.is_finished and not counts(pod)]
    return ReplicaView(
        owner=owner,
        pods=tuple(filter(counts, candidates)),
        terminating=sum(_is_owned(pod, owner) for pod in leaving),
        on_node=Counter(pod.spec.node_name for pod in siblings if counts(pod)),
        now=now,
    )


def _is_owned(pod: Pod, owner: Replicated) -> bool:
    controller = pod.metadata.find_controller()
    return controller is not None and controller.uid == owner.uid
