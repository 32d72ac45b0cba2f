"""The writes of the scheduler: volumes, claims, pods. Each says nothing that was not seen."""

from enum import Enum

import msgspec

from mooring.client.contract import Action, Client, Part
from mooring.errors import Conflict, NotFound
from mooring.model.claim import Claim
from mooring.model.condition import Condition
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.scheduling.decide.wanted import pointed_at


class Assigned(Enum):
    """What became of a pod that was to be put on a node."""

    HERE = "here"
    NOT_OURS = "not ours"  # it is gone, or on another node


async def reserve(client: Client, seen: Volume, claim: Claim) -> Volume:
    """Point the volume at the claim. Raises: Conflict when it is not as it was seen."""
    wanted = pointed_at(seen, claim)
    change: Doc = {"spec": {"claimRef": msgspec.to_builtins(wanted.spec.claim_ref)}}
    mark = Annotation.BOUND_BY_CONTROLLER
    if wanted.metadata.annotations.get(mark) != seen.metadata.annotations.get(mark):
        change["metadata"] = {"annotations": {mark: wanted.metadata.annotations[mark]}}
    return await client.patch(seen, change)


async def select_node(client: Client, seen: Claim, node: str) -> Claim:
    """Ask for a volume that the node can reach. Raises: Conflict."""
    change: Doc = {"metadata": {"annotations": {Annotation.SELECTED_NODE: node}}}
    return await client.patch(seen, change)


async def assign(client: Client, pod: Pod, node: str) -> Assigned:
    """Put the pod on the node.

    Repeated: success. Raises: ApiError when it was refused, ConnectionLost when the outcome is
    unknown.
    """
    doc: Doc = {"metadata": {"uid": pod.uid}, "target": {"kind": "Node", "name": node}}
    try:
        await client.post(Pod, pod.key, Action.BINDING, doc)
    except NotFound:
        return Assigned.NOT_OURS
    except Conflict:
        return await _settle_conflict(client, pod, node)
    return Assigned.HERE


async def _settle_conflict(client: Client, pod: Pod, node: str) -> Assigned:
    """It may be our own deed, the answer to which got lost. Raises: Conflict when it is not."""
    try:
        now = await client.get(Pod, pod.key)
    except NotFound:
        return Assigned.NOT_OURS
    if now.uid != pod.uid or now.spec.node_name not in {"", node}:
        return Assigned.NOT_OURS
    if now.spec.node_name == node:
        return Assigned.HERE
    if now.is_deleting:
        return Assigned.NOT_OURS
    raise Conflict(f'pods/binding "{pod.name}" was refused: the pod has changed')


async def report(
    client: Client, seen: Pod, conditions: tuple[Condition, ...], *, nominated: str
) -> Pod:
    """Raises: Conflict when the pod is not as it was seen."""
    shown = [msgspec.to_builtins(condition) for condition in conditions]
    status: Doc = {"conditions": shown}
    if nominated != seen.status.nominated_node_name:
        status["nominatedNodeName"] = nominated or None
    return await client.patch(seen, {"status": status}, Part.STATUS)
