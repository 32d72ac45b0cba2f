"""By what the binder's caches are indexed, besides by key."""

from collections.abc import Iterable

from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume
from mooring.reconcile.informer import Informer
from mooring.reconcile.pods_by_claim import index_by_claim

CLAIMS_BY_VOLUME = "volume"  # by the volumeName of the claim
CLAIMS_BY_NODE = "node"  # by the node that the scheduler chose
NODES_BY_DRIVER = "driver"  # CSINodes, by the drivers that run there
RECYCLED_BY_CLAIM = "recycled"  # volumes to be recycled, by the claim they were for


def add_indexes(claims: Informer[Claim], pods: Informer[Pod], volumes: Informer[Volume]) -> None:
    claims.add_index(CLAIMS_BY_VOLUME, _volume_named)
    claims.add_index(CLAIMS_BY_NODE, _node_chosen)
    index_by_claim(pods)
    volumes.add_index(RECYCLED_BY_CLAIM, _claim_recycled)


def find_named_by(claims: Informer[Claim], volume: Volume) -> Claim | None:
    """A claim that was bound to this volume, and still names it; the volume may know nothing of it.

    Of several the first by name: it is only known of each that it believes so.
    """
    named = claims.by_index(CLAIMS_BY_VOLUME, volume.name)
    bound = [claim for claim in named if claim.is_bind_completed]
    return min(bound, key=lambda claim: claim.key, default=None)


def drivers_on(node: CsiNode) -> Iterable[str]:
    return (driver.name for driver in node.spec.drivers or ())


def _volume_named(claim: Claim) -> Iterable[str]:
    return (claim.spec.volume_name,) if claim.spec.volume_name else ()


def _node_chosen(claim: Claim) -> Iterable[str]:
    return (claim.selected_node,) if claim.selected_node else ()


def _claim_recycled(volume: Volume) -> Iterable[Key]:
    reference = volume.spec.claim_ref
    if reference is None or volume.spec.reclaim_policy is not ReclaimPolicy.RECYCLE:
        return ()
    return (reference.key,)
