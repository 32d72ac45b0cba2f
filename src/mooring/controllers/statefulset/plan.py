"""The steps that a plan for a stateful set may hold."""

from typing import TypeAlias

import msgspec

from mooring.controllers.owned_pods.plan import PodStep
from mooring.controllers.revisions.plan import RevisionStep
from mooring.model import steps
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.stateful_set import StatefulSet, StatefulSetStatus
from mooring.model.steps import Emit
from mooring.model.wire import Word


class Reason(Word):
    """Of events, and of the condition about growing claims."""

    FAILED_CREATE = "FailedCreate"
    FAILED_UPDATE = "FailedUpdate"
    CONFLICTING_CONTROLLER = "ConflictingController"
    GROWING = "GrowingClaims"
    GROWN = "ClaimsGrown"
    REFUSED = "ClaimGrowthRefused"


class SaveStatus(msgspec.Struct, frozen=True):
    seen: StatefulSet
    status: StatefulSetStatus


class CreateClaim(msgspec.Struct, frozen=True):
    """Make a claim for the pod of this name."""

    set: StatefulSet
    pod_name: str
    document: Doc


class SetClaimOwners(msgspec.Struct, frozen=True):
    """Say who the claim is deleted with, if the set still wants what this was decided on."""

    set: StatefulSet
    claim: Claim
    owners: tuple[Doc, ...]


class GrowClaim(msgspec.Struct, frozen=True):
    """Ask for more storage, if the set still wants what this was decided on."""

    set: StatefulSet
    claim: Claim
    storage: str


class LabelPod(msgspec.Struct, frozen=True):
    """Give a pod the labels that say which one of the set it is."""

    set: StatefulSet
    pod: Pod
    labels: Doc


ClaimStep = CreateClaim | SetClaimOwners | GrowClaim
Step = SaveStatus | ClaimStep | LabelPod | PodStep | RevisionStep | Emit
Plan: TypeAlias = steps.Plan[Step]


class Stage(msgspec.Struct, frozen=True):
    """What one part of a decision asks for, and whether the parts after it have to wait."""

    because: str = ""  # empty: nothing is waited for
    steps: tuple[Step, ...] = ()
