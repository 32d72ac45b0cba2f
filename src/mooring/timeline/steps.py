"""The steps of a timeline, as they are shown."""

from datetime import datetime
from enum import StrEnum

import msgspec

from mooring.timeline.moments import Moment


class StepName(StrEnum):
    CLAIM_CREATED = "claim created"
    PROVISIONED = "provisioned"
    BOUND = "bound"
    SCHEDULED = "scheduled"
    ATTACHED = "attached"
    STAGED = "staged"
    PUBLISHED = "published"
    CONTAINER_STARTED = "container started"
    READY = "ready"


class StepState(StrEnum):
    DONE = "done"
    IN_FLIGHT = "in flight"  # a CSI call for it has not ended
    FAILING = "failing"  # its last CSI call failed
    WAITING = "waiting"
    NOT_YET = "not yet"  # an earlier step is waited for
    NOT_RECORDED = "not recorded"  # it is done, and nothing says when
    ENDED = "ended"  # the pod has: nothing is waited for any more


class Step(msgspec.Struct, frozen=True):
    name: StepName
    object: str  # `pvc/data`
    state: StepState
    began: Moment | None = None
    ended: Moment | None = None
    tries: int = 0  # CSI calls until it was done
    code: str = ""  # of gRPC, of the last call, where it failed; of a pod that ended, how

    @property
    def seconds(self) -> float | None:
        if self.began is None or self.ended is None:
            return None
        return max(0.0, (self.ended.at - self.began.at).total_seconds())

    @property
    def is_exact(self) -> bool:
        """Whether the duration is: objects tell whole seconds."""
        return all(one is not None and one.is_exact for one in (self.began, self.ended))

    @property
    def source(self) -> str:
        one = self.ended or self.began
        return "" if one is None else one.source


class Timeline(msgspec.Struct, frozen=True):
    subject: str
    steps: tuple[Step, ...]
    now: datetime
    unseen: tuple[str, ...] = ()
    uid: str = ""  # of the subject
    born: datetime | None = None  # of a pod: its claims may be older

    @property
    def start(self) -> datetime | None:
        if self.born is not None:
            return self.born
        moments = [one.at for step in self.steps for one in (step.began, step.ended) if one]
        return min(moments, default=None)

    def is_before(self, step: Step) -> bool:
        """Whether it was over when the subject was made: the pod did not wait for it."""
        return self.born is not None and step.ended is not None and step.ended.at < self.born

    def counts(self, step: Step) -> bool:
        """Whether it is part of the whole. Of a claim alone an attachment is not: it is the present
        one, which may have been made for a later pod than the first."""
        is_other = self.born is None and step.name is StepName.ATTACHED
        return not is_other and not self.is_before(step)

    @property
    def end(self) -> datetime | None:
        """Of the last step that is done; None while there are others."""
        counted = [step for step in self.steps if self.counts(step)]
        if any(step.state not in _OVER for step in counted):
            return None
        moments = [step.ended.at for step in counted if step.ended is not None]
        return max(moments, default=None)

    @property
    def seconds(self) -> float:
        """From the start to the end, or until now."""
        start = self.start
        return 0.0 if start is None else ((self.end or self.now) - start).total_seconds()


_OVER = frozenset({StepState.DONE, StepState.NOT_RECORDED, StepState.ENDED})
