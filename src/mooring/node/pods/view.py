"""A pod and its containers at one moment. Times are of the monotonic clock, in seconds."""

from collections.abc import Mapping
from enum import Enum

import msgspec

from mooring.model.pod import Pod
from mooring.node.pods.plan import Pause
from mooring.oci.contract import Found, State


class Failed(Enum):
    """The probe that says a container must go."""

    LIVENESS = "liveness"
    STARTUP = "startup"


class Health(msgspec.Struct, frozen=True):
    """What probes say of one running container; without probes it is well."""

    has_started: bool = True
    is_ready: bool = True
    failed: Failed | None = None


WELL = Health()


class WaitingReason(msgspec.Struct, frozen=True):
    """Why a container is not started now; in the words of its status."""

    reason: str
    message: str
    until: float
    failures: int = 1  # in a row


class View(msgspec.Struct, frozen=True):
    pod: Pod
    now: float
    found: Mapping[str, tuple[Found, ...]] = {}  # by container name, the newest first
    ended: Mapping[str, float] = {}  # by id: when
    busy: frozenset[str] = frozenset()  # names of containers being started or killed
    health: Mapping[str, Health] = {}  # by id
    pauses: Mapping[str, Pause] = {}  # by container name
    waiting_reasons: Mapping[str, WaitingReason] = {}  # by container name
    deadline: float | None = None
    is_ending: bool = False  # it is deleted, or over: nothing is started any more
    has_vanished: bool = False  # from the API: it ends without delay

    def newest(self, name: str) -> Found | None:
        return next(iter(self.found.get(name, ())), None)

    def health_of(self, found: Found) -> Health:
        return self.health.get(found.id, WELL)

    @property
    def is_overdue(self) -> bool:
        return self.deadline is not None and self.now >= self.deadline

    @property
    def has_initialized(self) -> bool:
        """A regular container exists, or did: init containers are history."""
        return any(self.found.get(each.name) for each in self.pod.spec.containers)

    @property
    def is_empty(self) -> bool:
        """Nothing runs, nothing is on its way."""
        every = (one for group in self.found.values() for one in group)
        return not self.busy and all(one.state is State.EXITED for one in every)
