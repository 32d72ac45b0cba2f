"""Where Mooring ends otherwise than Kubernetes on purpose. docs/decisions/0009 tells more of each.

A story of the table that names one of these must end otherwise on Kubernetes: what does not differ
any more is to be taken off the list.
"""

from collections.abc import Mapping
from enum import Enum


class Kept(Enum):
    RESERVED_FIRST = "whoever reserves a volume means it: it comes before every free one"
    BOUND_AGAIN = "a claim that points at a volume has it: bound again, even while it is deleted"
    HELD = "a slip of the hand deletes no data: what a claim is bound to is not reclaimed"
    LAST_MESSAGE = "people act on the message of a failed volume: it is that of the last failure"
    NEVER_SMALLER = "a volume is never said to be smaller than it is"
    TEMPORARY = "only what lies below the temporary directory is temporary"
    DELETION_BLOCKED = "a claim that cannot go says which pods hold it"
    EXPLAINED = "an event says what to change: how large a volume there is, which drivers there are"
    NEVER_THROUGH_MOUNTS = "what is mounted inside a volume is not wiped with it"


OURS_ALONE: Mapping[str, Kept] = {"DeletionBlocked": Kept.DELETION_BLOCKED}
"""Reasons of events that Kubernetes does not have; they are not compared."""

EXPLANATIONS: Mapping[str, Kept] = {
    r"^no persistent volume is large enough: .*?, has \S+; ": Kept.EXPLAINED,
    r'(?:(?<!registered)\.)? No CSI driver or plugin "[^"]*" is registered[;,].*$': Kept.EXPLAINED,
}
"""What our events say beyond Kubernetes' own; it is not compared."""

THEIR_SCRUB = (
    'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
)
SCRUBS: Mapping[str, Kept] = {THEIR_SCRUB: Kept.NEVER_THROUGH_MOUNTS}
"""What Kubernetes' recycler pods run; ours run another script, and both are shown as one."""
