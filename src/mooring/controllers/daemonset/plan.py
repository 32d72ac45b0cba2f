"""The steps that a plan for a daemon set may hold."""

from typing import Final, TypeAlias

import msgspec

from mooring.controllers.owned_pods.plan import PodStep
from mooring.controllers.revisions.plan import RevisionStep
from mooring.model import steps
from mooring.model.daemon_set import DaemonSet, DaemonSetStatus
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.model.wire import Word

MOST_AT_ONCE: Final = 250
"""Pods that one pass may create, and as many that it may delete."""


class Reason(Word):
    FAILED_DAEMON_POD = "FailedDaemonPod"
    SUCCEEDED_DAEMON_POD = "SucceededDaemonPod"


class SaveStatus(msgspec.Struct, frozen=True):
    seen: DaemonSet
    status: DaemonSetStatus


class NoteFailure(msgspec.Struct, frozen=True):
    """A failed pod is deleted on this node; the next one there has to wait for longer."""

    set: DaemonSet
    node: str


class Changes(msgspec.Struct, frozen=True):
    """Where pods are made, and which are deleted."""

    nodes: tuple[str, ...] = ()
    pods: tuple[Pod, ...] = ()
    notes: tuple[Emit | NoteFailure, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.pods)


Step = SaveStatus | NoteFailure | PodStep | RevisionStep | Emit
Plan: TypeAlias = steps.Plan[Step]
