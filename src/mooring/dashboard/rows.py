"""Objects as the page needs them: small rows, since ten thousand of them are sent at once. Pure."""

from typing import Any

from mooring.dashboard.kinds import ShownPod
from mooring.model import quantity
from mooring.model.attachment import Attachment, AttachmentError
from mooring.model.claim import Claim
from mooring.model.condition import Condition
from mooring.model.container_status import ContainerStatus
from mooring.model.csi_driver import CsiDriver
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import STORAGE
from mooring.model.volume import Volume

Row = dict[str, Any]

MOST_TEXT = 500  # characters of a message


def row_of(it: ApiObject) -> Row | None:
    """None: nothing to show, as of a pod without claims."""
    match it:
        case Claim():
            row = _claim(it)
        case Volume():
            row = _volume(it)
        case ShownPod():
            claims = it.claim_names()
            if not claims:
                return None
            row = _pod(it, claims)
        case Attachment():
            row = _attachment(it)
        case Node():
            row = _node(it)
        case StorageClass():
            row = _class(it)
        case CsiDriver():
            row = {"attach": it.spec.attach_required}
        case _:
            return None
    row["id"] = str(it.key)
    row["created"] = it.metadata.creation_timestamp
    if it.is_deleting:
        row["deleting"] = it.metadata.deletion_timestamp
        row["finalizers"] = list(it.metadata.finalizers)
    return row


def _claim(claim: Claim) -> Row:
    return {
        "phase": str(claim.status.phase),
        "class": claim.storage_class,
        "size": _bytes(claim.spec.resources.requests.get(STORAGE)),
        "capacity": _bytes(claim.status.capacity.get(STORAGE)),
        "volume": claim.spec.volume_name,
        "modes": [str(mode) for mode in claim.spec.access_modes],
        "conditions": [_condition(one) for one in claim.status.conditions],
    }


def _volume(volume: Volume) -> Row:
    ref = volume.spec.claim_ref
    source = volume.spec.find_source()
    csi = volume.spec.csi
    return {
        "phase": str(volume.status.phase),
        "since": volume.status.last_phase_transition_time,
        "message": _text(volume.status.message),
        "class": volume.storage_class,
        "capacity": _bytes(volume.spec.capacity.get(STORAGE)),
        "claim": f"{ref.namespace}/{ref.name}" if ref is not None else "",
        "csi": csi is not None,
        "driver": csi.driver if csi is not None else (source[0] if source else ""),
        "policy": str(volume.spec.reclaim_policy),
    }


def _pod(pod: ShownPod, claims: list[str]) -> Row:
    status = pod.status
    return {
        "phase": status.phase,
        "reason": _text(status.reason),
        "node": pod.spec.node_name,
        "claims": [f"{pod.namespace}/{name}" for name in claims],
        "conditions": [_condition(one) for one in status.conditions],
        "containers": [
            *(_container(one, "init") for one in status.init_container_statuses),
            *(_container(one, "") for one in status.container_statuses),
        ],
    }


def _container(status: ContainerStatus, sort: str) -> Row:
    state = status.state
    row: Row = {"name": status.name, "sort": sort, "restarts": status.restart_count}
    if state.running is not None:
        return {**row, "state": "running", "since": state.running.started_at}
    if state.terminated is not None:
        ended = state.terminated
        words = {
            "reason": _text(ended.reason),
            "code": ended.exit_code,
            "message": _text(ended.message),
        }
        return {**row, "state": "terminated", "since": ended.finished_at, **words}
    waiting = state.waiting
    reason, message = (waiting.reason, waiting.message) if waiting is not None else ("", "")
    return {**row, "state": "waiting", "reason": _text(reason), "message": _text(message)}


def _attachment(attachment: Attachment) -> Row:
    status = attachment.status
    return {
        "volume": attachment.volume_name,
        "node": attachment.spec.node_name,
        "attacher": attachment.spec.attacher,
        "attached": status.attached,
        "error": _error(status.attach_error) or _error(status.detach_error),
    }


def _node(node: Node) -> Row:
    return {
        "ready": node.is_ready,
        "unschedulable": node.spec.unschedulable,
        "inUse": len(node.status.volumes_in_use),
        "attached": len(node.status.volumes_attached),
    }


def _class(found: StorageClass) -> Row:
    return {
        "provisioner": found.provisioner,
        "default": found.is_default,
        "mode": str(found.volume_binding_mode),
        "policy": str(found.reclaim_policy),
        "grows": bool(found.allow_volume_expansion),
    }


def _condition(condition: Condition) -> Row:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": _text(condition.reason),
        "message": _text(condition.message),
    }


def _error(error: AttachmentError | None) -> str:
    return "" if error is None else _text(error.message)


def _text(text: str) -> str:
    return shortened(text, MOST_TEXT)


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _bytes(text: str | None) -> int | None:
    """None for what is missing or no quantity."""
    if text is None:
        return None
    try:
        return quantity.parse(text).bytes_ceil()
    except ValueError:
        return None
