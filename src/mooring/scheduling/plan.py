"""What may come of looking at a pod."""

import msgspec

from mooring.model.claim import Claim
from mooring.model.pod import Pod
from mooring.model.volume import Volume


class Reservation(msgspec.Struct, frozen=True):
    """A volume that was made by hand, for a claim that waited for its first pod."""

    volume: Volume
    claim: Claim


class PodVolumes(msgspec.Struct, frozen=True):
    """What must become of a pod's claims before it can be on its node."""

    reservations: tuple[Reservation, ...] = ()
    provisions: tuple[Claim, ...] = ()  # a volume has to be made, reachable from the node

    @property
    def is_empty(self) -> bool:
        """All claims are bound, or there are none."""
        return not (self.reservations or self.provisions)


class Assignment(msgspec.Struct, frozen=True):
    """The pod goes to this node."""

    node: str
    volumes: PodVolumes = PodVolumes()


class Preemption(msgspec.Struct, frozen=True):
    """These pods make room on their node for one of higher priority."""

    node: str
    victims: tuple[Pod, ...]


class Unschedulable(msgspec.Struct, frozen=True):
    """It fits nowhere until something happens that these rules name; no rules: there is no node."""

    message: str
    rules: frozenset[str] = frozenset()
    preemption: Preemption | None = None
    waits_for_victims: bool = False  # its nominated node stays as it is


class Trouble(msgspec.Struct, frozen=True):
    """The outcome is unknown: try again after a while."""

    message: str


Verdict = Assignment | Unschedulable | Trouble
