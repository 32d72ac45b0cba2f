"""What a rule is: how it judges nodes, and which events could make it judge otherwise."""

from collections.abc import Callable

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.scheduling.plan import Trouble
from mooring.scheduling.view import NodeView, Picture


class Refused(msgspec.Struct, frozen=True):
    """Why the pod cannot be on a node, or on any."""

    reasons: tuple[str, ...]
    yields: bool = False  # other pods stand in the way: their going would help


Check = Callable[[NodeView], Refused | None]
"""None: this node will do."""


class Among(msgspec.Struct, frozen=True):
    """Only nodes of these names come into question; those are checked."""

    names: frozenset[str]
    check: Check


Opinion = Check | Among | Refused | Trouble | None
"""Of a rule on a pod, before it sees any node. None: the rule has nothing to say on it."""

Thing = (
    Attachment
    | Claim
    | CsiDriver
    | CsiNode
    | Namespace
    | Node
    | Pod
    | StorageCapacity
    | StorageClass
    | Volume
)


class Change(msgspec.Struct, frozen=True):
    """Something happened: None before for what is new, None after for what is gone."""

    before: Thing | None
    after: Thing | None


class Rule(msgspec.Struct, frozen=True):
    name: str  # as upstream calls the plugin
    look_at: Callable[[Picture], Opinion]
    is_woken: Callable[[Pod, Change], bool]
    """Whether a pod that the rule refused may fit after a change."""


def is_own_claim(pod: Pod, change: Change) -> bool:
    """A claim that the pod uses came or changed."""
    claim = change.after
    return (
        isinstance(claim, Claim)
        and claim.namespace == pod.namespace
        and claim.name in pod.claim_names()
    )


def is_new_node(change: Change) -> bool:
    return change.before is None and isinstance(change.after, Node)


def is_relabelled(change: Change) -> bool:
    """A node came, or has other labels."""
    before, after = change.before, change.after
    if not isinstance(after, Node):
        return False
    return not isinstance(before, Node) or before.metadata.labels != after.metadata.labels
