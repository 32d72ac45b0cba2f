"""The steps that a plan for a job may hold."""

from typing import TypeAlias

import msgspec

from mooring.controllers.job.view import Backoff
from mooring.controllers.owned_pods.plan import CreatePods, DeletePod
from mooring.model import steps
from mooring.model.job import Job, JobStatus
from mooring.model.pod import Pod
from mooring.model.steps import Emit


class SaveStatus(msgspec.Struct, frozen=True):
    seen: Job
    status: JobStatus


class AdoptTracked(msgspec.Struct, frozen=True):
    """Adopt a pod without a controller, and give it the finalizer, in one write."""

    job: Job
    pod: Pod


class ReleaseTracked(msgspec.Struct, frozen=True):
    """Let a pod go that no longer matches, without the finalizer."""

    job: Job
    pod: Pod


class Untrack(msgspec.Struct, frozen=True):
    """Take the finalizer off a pod whose end is in the status."""

    pod: Pod


class DropPod(msgspec.Struct, frozen=True):
    """Delete a pod that is one too many: its end is not counted."""

    job: Job
    pod: Pod


class Remember(msgspec.Struct, frozen=True):
    """The back-off after pods that have ended."""

    job: Job
    backoff: Backoff


Step = (
    SaveStatus
    | AdoptTracked
    | ReleaseTracked
    | Untrack
    | DropPod
    | Remember
    | CreatePods
    | DeletePod
    | Emit
)
Plan: TypeAlias = steps.Plan[Step]


class Decision(msgspec.Struct, frozen=True):
    plan: Plan
    again: float | None = None  # seconds after which to look, although nothing has happened
