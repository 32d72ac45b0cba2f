"""The answer to "why does it wait?": the stable schema of `mooring why -o json`.

Every sentence (`Link.says`) names the object that it was read from (`Link.source`). Fields are
only ever added; every field is always written.
"""

from enum import StrEnum

import msgspec

SCHEMA = "mooring.why/v1"


class Schema(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Immutable in Python, camelCase in JSON; fields with their default value are written, too."""


class Verdict(StrEnum):
    """The whole answer in a word; `EXIT_CODES` makes it an exit code."""

    FINE = "fine"
    WAITING = "waiting"  # somebody is at it, or will be
    BROKEN = "broken"  # nothing will happen before somebody changes something
    UNKNOWN = "unknown"  # what would tell could not be read


class State(StrEnum):
    """How far one step is."""

    DONE = "done"
    WAITING = "waiting"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"  # not needed here, or not reached yet


class Step(StrEnum):
    """The links of the chain, in order; and what else an answer may be about."""

    CLAIM = "claim"
    CLASS = "class"
    VOLUME = "volume"
    SCHEDULING = "scheduling"
    ATTACHMENT = "attachment"
    STAGING = "staging"
    PUBLISHING = "publishing"
    CONTAINER = "container"
    EXPANSION = "expansion"
    SNAPSHOT = "snapshot"
    CONTENT = "content"
    DRIVER = "driver"
    NODE = "node"
    DELETION = "deletion"
    MODIFICATION = "modification"
    WORKLOAD = "workload"
    NAMESPACE = "namespace"


class Ref(Schema, frozen=True, gc=False):
    """An object; `namespace` is empty for cluster-scoped ones."""

    kind: str  # as in the API: PersistentVolumeClaim
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


class Link(Schema, frozen=True, gc=False):
    """One step of the chain."""

    step: Step
    object: Ref
    state: State
    says: str  # one sentence
    source: Ref  # the object that the sentence was read from
    since: str | None = None  # RFC 3339
    until: str | None = None  # when it will be tried again, or something expires
    who: str = ""  # who must act


class Fix(Schema, frozen=True, gc=False):
    """A command that can be pasted."""

    command: str
    what_it_does: str


class CandidateGroup(Schema, frozen=True, gc=False):
    """Volumes or nodes that do not fit, for one and the same reason."""

    kind: str  # PersistentVolume, Node
    reason: str
    count: int
    names: tuple[str, ...] = ()


class Answer(Schema, frozen=True, gc=False):
    subject: Ref
    verdict: Verdict
    summary: str  # the first link that is not done, or that all is well
    links: tuple[Link, ...] = ()
    fixes: tuple[Fix, ...] = ()  # the nearest first
    candidates: tuple[CandidateGroup, ...] = ()  # the largest group first
    unseen: tuple[str, ...] = ()  # what could not be read, and why
    schema: str = SCHEMA


EXIT_CODES = {Verdict.FINE: 0, Verdict.WAITING: 1, Verdict.BROKEN: 2, Verdict.UNKNOWN: 2}
