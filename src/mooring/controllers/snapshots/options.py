"""How the snapshot controller works, as far as people may choose."""

import msgspec

from mooring.controllers.snapshots.view import ContentMode
from mooring.model.keys import Key
from mooring.reconcile.lease import TERMS, Terms

SNAPSHOT_LEASE = "snapshot-controller-leader"  # upstream's: of the two, only one is active


class SnapshotLease(msgspec.Struct, frozen=True):
    """The lease of upstream's snapshot-controller, beside which two must not work."""

    lease: Key
    identity: str
    terms: Terms = TERMS


class SnapshotOptions(msgspec.Struct, frozen=True):
    mode: ContentMode = ContentMode.RECORDED
    lease: SnapshotLease | None = None  # None: this process is alone and needs none
    is_distributed: bool = False  # label contents with the node that reaches the volume
