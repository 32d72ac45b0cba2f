"""The view of one stateful set: its pods, their claims, its revisions, and the time."""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from mooring.controllers.owned_pods.readiness import is_available, is_ready
from mooring.model.claim import Claim
from mooring.model.controller_revision import ControllerRevision
from mooring.model.pod import Pod, PodPhase
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Label


class StatefulSetView(msgspec.Struct, frozen=True):
    set: StatefulSet
    pods: tuple[Pod, ...]  # its own, and those of its namespace without a controller
    claims: Mapping[str, Claim]  # by name: those that its templates name, for any of its pods
    revisions: tuple[ControllerRevision, ...]
    classes: Mapping[str, StorageClass]  # those of the claims
    doomed: frozenset[str]  # uids of pods whose deletion was asked for, though not seen yet
    now: datetime


class Member(msgspec.Struct, frozen=True):
    """A pod of the set, and how it is."""

    ordinal: int
    pod: Pod
    is_leaving: bool
    is_ready: bool  # it runs, and says so
    is_available: bool  # it has been ready for long enough

    @property
    def revision(self) -> str:
        return self.pod.metadata.labels.get(Label.CONTROLLER_REVISION, "")

    @property
    def is_healthy(self) -> bool:
        return self.is_available and not self.is_leaving


def members(view: StatefulSetView, pods: Iterable[Pod]) -> dict[int, Member]:
    """By ordinal. Names are unique in a namespace, so there is one pod of each at most."""
    found: dict[int, Member] = {}
    least = view.set.spec.min_ready_seconds
    for pod in pods:
        ordinal = view.set.find_ordinal(pod.name)
        if ordinal is not None:
            ready = is_ready(pod) and pod.status.phase is PodPhase.RUNNING
            found[ordinal] = Member(
                ordinal,
                pod,
                pod.is_deleting or pod.uid in view.doomed,
                ready,
                ready and is_available(pod, least, view.now),
            )
    return found
