"""Everything that a timeline is made of, as it was read at one moment."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from mooring.csi.call_record import CsiCall


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """Of objects only what times are taken from; other clusters' unknown fields do not matter."""


class FieldsOwner(_Part, frozen=True):
    """An entry of managedFields: who wrote which fields, and when last."""

    manager: str = ""
    subresource: str = ""
    time: datetime | None = None
    fields: Mapping[str, Any] = msgspec.field(name="fieldsV1", default_factory=dict)

    def has(self, *path: str) -> bool:
        """Whether it owns the field at `path`."""
        at: Any = self.fields
        for step in path:
            at = at.get(f"f:{step}") if isinstance(at, dict) else None
            if at is None:
                return False
        return True


class Meta(_Part, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: datetime | None = None
    annotations: Mapping[str, str] = {}
    managed_fields: tuple[FieldsOwner, ...] = ()


class Condition(_Part, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    last_transition_time: datetime | None = None


class Running(_Part, frozen=True):
    started_at: datetime | None = None


class Ended(Running, frozen=True):
    finished_at: datetime | None = None


class ContainerState(_Part, frozen=True):
    running: Running | None = None
    terminated: Ended | None = None


class ContainerStatus(_Part, frozen=True):
    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(_Part, frozen=True):
    phase: str = ""
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class ClaimSource(_Part, frozen=True):
    claim_name: str = ""


class PodVolume(_Part, frozen=True):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Mapping[str, Any] | None = None


class PodSpec(_Part, frozen=True):
    node_name: str = ""
    volumes: tuple[PodVolume, ...] = ()


class Pod(_Part, frozen=True):
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def how_ended(self) -> str:
        """`Succeeded`, `Failed`, or the reason, as `Evicted`; empty: it has not ended."""
        is_over = self.status.phase in {"Succeeded", "Failed"}
        return (self.status.reason or self.status.phase) if is_over else ""

    def claim_names(self) -> tuple[str, ...]:
        """In the order of its volumes; those of ephemeral volumes have the pod's name in theirs."""
        names = []
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None:
                names.append(volume.persistent_volume_claim.claim_name)
            elif volume.ephemeral is not None:
                names.append(f"{self.metadata.name}-{volume.name}")
        return tuple(dict.fromkeys(names))


class ClaimSpec(_Part, frozen=True):
    volume_name: str = ""


class ClaimStatus(_Part, frozen=True):
    phase: str = ""


class Claim(_Part, frozen=True):
    metadata: Meta = Meta()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class CsiSource(_Part, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeSpec(_Part, frozen=True):
    csi: CsiSource | None = None


class Volume(_Part, frozen=True):
    metadata: Meta = Meta()
    spec: VolumeSpec = VolumeSpec()


class AttachmentSource(_Part, frozen=True):
    persistent_volume_name: str = ""


class AttachmentSpec(_Part, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class AttachmentStatus(_Part, frozen=True):
    attached: bool = False


class Attachment(_Part, frozen=True):
    metadata: Meta = Meta()
    spec: AttachmentSpec = AttachmentSpec()
    status: AttachmentStatus = AttachmentStatus()


class Involved(_Part, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""


class Event(_Part, frozen=True):
    metadata: Meta = Meta()
    involved_object: Involved = Involved()
    reason: str = ""
    message: str = ""
    first_timestamp: datetime | None = None
    event_time: datetime | None = None


class Bound(msgspec.Struct, frozen=True):
    """A claim with what belongs to it."""

    claim: Claim
    volume: Volume | None = None
    attachment: Attachment | None = None  # to the pod's node; of a claim alone: any


class Picture(msgspec.Struct, frozen=True):
    now: datetime
    claims: tuple[Bound, ...] = ()
    pod: Pod | None = None
    events: tuple[Event, ...] = ()
    calls: tuple[CsiCall, ...] = ()
    unseen: tuple[str, ...] = ()  # what could not be read, each with its reason
