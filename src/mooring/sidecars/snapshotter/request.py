"""The record of a request: with which words the driver was, or may have been, asked."""

from collections.abc import Mapping

import msgspec

from mooring.model.meta import ApiObject
from mooring.model.wellknown import Annotation


class SnapshotRequest(msgspec.Struct, frozen=True):
    """Kept on the content while it is being created: its class, or a flag, may change meanwhile."""

    name: str
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)


def encode(request: SnapshotRequest) -> str:
    return msgspec.json.encode(request, order="deterministic").decode()


def find_request(content: ApiObject) -> SnapshotRequest | None:
    """None: another snapshotter recorded nothing, or it cannot be read."""
    told = content.metadata.annotations.get(Annotation.SNAPSHOT_REQUEST, "")
    try:
        return msgspec.json.decode(told, type=SnapshotRequest) if told else None
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
