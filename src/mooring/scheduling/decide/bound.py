"""How the binding of a pod's volumes goes, once it has been asked for."""

from collections.abc import Callable

import msgspec

from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.volume import Volume
from mooring.scheduling.decide.claims import is_fully_bound
from mooring.scheduling.decide.in_tree import is_reachable


class Asked(msgspec.Struct, frozen=True):
    """What has been written to the API."""

    node: str
    reserved: tuple[tuple[str, Key], ...] = ()  # volumes for claims
    provisioned: tuple[Key, ...] = ()  # claims


class Seen(msgspec.Struct, frozen=True):
    """The API as it is: nothing assumed."""

    node: Node | None
    csi: CsiNode | None
    find_claim: Callable[[Key], Claim | None]
    find_volume: Callable[[str], Volume | None]


class Bound(msgspec.Struct, frozen=True):
    """All claims have their volumes, and the node can reach them."""


class Pending(msgspec.Struct, frozen=True):
    """Others are at work."""


class Failed(msgspec.Struct, frozen=True):
    """It will not come about; the pod has to be looked at anew."""

    why: str


State = Bound | Pending | Failed


def judge(asked: Asked, seen: Seen) -> State:
    node = seen.node
    if node is None:
        return Failed(f'failed to get node "{asked.node}": node "{asked.node}" not found')
    for name, key in asked.reserved:
        state = _judge_reserved(node, seen, name, key)
        if not isinstance(state, Bound):
            return state
    for key in asked.provisioned:
        state = _judge_provisioned(node, seen, key)
        if not isinstance(state, Bound):
            return state
    return Bound()


def _judge_reserved(node: Node, seen: Seen, name: str, key: Key) -> State:
    volume, claim = seen.find_volume(name), seen.find_claim(key)
    if volume is None or claim is None:
        return Failed("failed to check binding: object not found")
    if not is_reachable(volume, node.metadata.labels, seen.csi):
        return _out_of_reach(volume, node)
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return Failed(f'ClaimRef got reset for pv "{name}"')
    return Bound() if is_fully_bound(claim) else Pending()


def _judge_provisioned(node: Node, seen: Seen, key: Key) -> State:
    claim = seen.find_claim(key)
    if claim is None:
        return Failed("failed to check provisioning pvc: object not found")
    if not claim.metadata.annotations:
        return Failed(f'selectedNode annotation reset for PVC "{key.name}"')
    if claim.selected_node != node.name:
        return Failed(f'provisioning failed for PVC "{key.name}"')
    if claim.spec.volume_name:
        volume = seen.find_volume(claim.spec.volume_name)
        if volume is None:
            return Pending()  # it is on its way
        if not is_reachable(volume, node.metadata.labels, seen.csi):
            return _out_of_reach(volume, node)
    return Bound() if is_fully_bound(claim) else Pending()


def _out_of_reach(volume: Volume, node: Node) -> Failed:
    return Failed(
        f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": '
        "no matching NodeSelectorTerms"
    )
