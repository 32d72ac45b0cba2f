"""The steps that a plan of the protection reconcilers may hold."""

import msgspec

from mooring.model.claim import Claim
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod


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


class TellBlocked(msgspec.Struct, frozen=True):
    """Say on the claim which pods its deletion waits for."""

    claim: Claim
    users: tuple[Pod, ...]


Step = AddFinalizer | RemoveFinalizer | AskServer | TellBlocked


class Plan(msgspec.Struct, frozen=True):
    because: str
    steps: tuple[Step, ...] = ()


def plan(because: str, *steps: Step) -> Plan:
    return Plan(because, steps)
