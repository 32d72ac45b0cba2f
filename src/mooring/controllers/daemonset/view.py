"""The view of one daemon set: the nodes, its pods on them, its revisions, and the time."""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from mooring.controllers.owned_pods.readiness import is_available, is_ready
from mooring.model.controller_revision import ControllerRevision
from mooring.model.daemon_set import DaemonSet
from mooring.model.node import Node
from mooring.model.node_selector import NodeOperator
from mooring.model.pod import Pod

NAME_FIELD = "metadata.name"


class DaemonSetView(msgspec.Struct, frozen=True):
    set: DaemonSet
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]  # its own, and those of its namespace without a controller
    revisions: tuple[ControllerRevision, ...]
    backoff: Mapping[str, float]  # by node: seconds before another failed pod is deleted there
    doomed: frozenset[str]  # uids of pods whose deletion was asked for, though not seen yet
    now: datetime


class Daemon(msgspec.Struct, frozen=True):
    """A pod of the set, and how it is."""

    node: str  # where it runs, or is meant to
    pod: Pod
    is_leaving: bool
    is_ready: bool
    is_available: bool  # it has been ready for long enough

    @property
    def is_running(self) -> bool:
        """It has not ended, and is not about to."""
        return not self.is_leaving and not self.pod.is_finished


def daemons_by_node(view: DaemonSetView, pods: Iterable[Pod]) -> dict[str, list[Daemon]]:
    """The oldest that is scheduled comes first. Those that have ended and are going count no more;
    those that are meant for no node at all are left alone."""
    found: dict[str, list[Daemon]] = {}
    for pod in sorted(pods, key=_seniority):
        leaving = pod.is_deleting or pod.uid in view.doomed
        node = target_node(pod)
        if node is None or (leaving and pod.is_finished):
            continue
        available = is_available(pod, view.set.spec.min_ready_seconds, view.now)
        daemon = Daemon(node, pod, leaving, is_ready(pod), available)
        found.setdefault(node, []).append(daemon)
    return found


def target_node(pod: Pod) -> str | None:
    """Where it runs, or the node that its affinity names."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity
    wanted = None if affinity is None or affinity.node_affinity is None else affinity.node_affinity
    terms = () if wanted is None or wanted.required is None else wanted.required.node_selector_terms
    for term in terms:
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.operator is NodeOperator.IN and field.values:
                return field.values[0]
    return None


def _seniority(pod: Pod) -> tuple[bool, str, str]:
    return (not pod.is_scheduled, pod.metadata.creation_timestamp or "", pod.name)
