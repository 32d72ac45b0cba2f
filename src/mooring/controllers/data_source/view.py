"""What the validator looks at: a claim, and the kinds that populators have announced."""

import msgspec

from mooring.model.claim import Claim
from mooring.model.populator import SourceKind


class ClaimView(msgspec.Struct, frozen=True):
    claim: Claim
    announced: frozenset[SourceKind]
    warned_of: SourceKind | None = None  # the kind that the last event was about
