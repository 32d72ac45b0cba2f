"""What the decisions about a snapshot, its content and its claim look at."""

from enum import Enum

import msgspec

from mooring.model.claim import Claim
from mooring.model.group_snapshot import GroupSnapshot
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.volume import Volume


class Evidence(Enum):
    """Where a view comes from, and so what an absence proves."""

    CACHE = "what is not here may exist"
    SERVER = "read from the server for this decision"


class ContentMode(Enum):
    """Whether contents record the mode of the volume (`--prevent-volume-mode-conversion`)."""

    RECORDED = "a restore in another mode is refused"
    FORGOTTEN = "any mode may be restored"


class Classes(msgspec.Struct, frozen=True):
    named: SnapshotClass | None = None  # the one that the snapshot names
    defaults: tuple[SnapshotClass, ...] = ()  # of all drivers


class Source(msgspec.Struct, frozen=True):
    """The claim to take the snapshot of, and its volume."""

    claim: Claim | None = None
    volume: Volume | None = None
    node: str = ""  # which reaches the volume, where each node has a snapshotter of its own


class FoundContent(msgspec.Struct, frozen=True):
    content: SnapshotContent | None = None
    evidence: Evidence = Evidence.CACHE
    siblings: tuple[SnapshotContent, ...] = ()  # others with the same snapshot handle


class Uses(msgspec.Struct, frozen=True):
    """Who needs the snapshot, or has a say in it."""

    restoring: tuple[Key, ...] = ()  # claims that are being made from it
    group: GroupSnapshot | None = None  # that it is a member of
    joined: GroupSnapshot | None = None  # whose driver says that it belongs to it
    recorded: str = ""  # the last event about what its deletion waits for


class SnapshotView(msgspec.Struct, frozen=True):
    snapshot: Snapshot
    now: str
    found: FoundContent = FoundContent()
    source: Source = Source()
    classes: Classes = Classes()
    uses: Uses = Uses()
    mode: ContentMode = ContentMode.RECORDED


class ClaimView(msgspec.Struct, frozen=True):
    """A claim and the snapshots that name it as their source."""

    claim: Claim
    snapshots: tuple[Snapshot, ...]
    evidence: Evidence
