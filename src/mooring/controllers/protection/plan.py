"""The steps that a plan of the protection reconcilers may hold."""

from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.claim import Claim
from mooring.model.condition import Condition
from mooring.model.meta import ApiObject
from mooring.model.steps import Emit


class AddFinalizer(msgspec.Struct, frozen=True):
    to: ApiObject
    finalizer: str


class RemoveFinalizer(msgspec.Struct, frozen=True):
    """The last step of an object's life: from here on nothing holds it for us."""

    of: ApiObject
    finalizer: str


class AskServer(msgspec.Struct, frozen=True):
    """The cache knows no user of the claim: look at the server's pods and decide again."""

    claim: Claim


class SetConditions(msgspec.Struct, frozen=True):
    """All conditions of the claim, the one about its use among them."""

    of: Claim
    conditions: tuple[Condition, ...]


Step = AddFinalizer | RemoveFinalizer | AskServer | SetConditions | Emit
Plan: TypeAlias = steps.Plan[Step]
