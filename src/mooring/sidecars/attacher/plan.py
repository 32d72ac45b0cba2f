"""The steps that a plan of the attacher may hold."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from mooring.csi.requests import AttachVolume
from mooring.model import steps
from mooring.model.attachment import Attachment
from mooring.model.reference import SecretReference
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer
from mooring.sidecars.lease_name import sanitized


def finalizer_of(driver: str) -> str:
    return f"{Finalizer.ATTACHER_PREFIX}{sanitized(driver)}"


class Protect(msgspec.Struct, frozen=True):
    """The volume's object must not go while it is attached."""

    volume: Volume


class Unprotect(msgspec.Struct, frozen=True):
    volume: Volume


class Record(msgspec.Struct, frozen=True):
    """Write down what is going to be attached, and where, before it is."""

    attachment: Attachment
    notes: Mapping[str, str]  # annotations


class DetachFormer(msgspec.Struct, frozen=True):
    """The node, or the volume, has another id by now: undo what may be attached as on record."""

    attachment: Attachment
    handle: str  # on record
    node_id: str  # likewise
    now_called: str  # what the node is called by now
    secret: SecretReference | None


class Attach(msgspec.Struct, frozen=True):
    attachment: Attachment
    request: AttachVolume  # without secrets: they are read when it is sent
    secret: SecretReference | None


class Detach(msgspec.Struct, frozen=True):
    attachment: Attachment
    handle: str
    node_id: str
    secret: SecretReference | None


class MarkAttached(msgspec.Struct, frozen=True):
    attachment: Attachment


class AttachFails(msgspec.Struct, frozen=True):
    """Write the error into the status, and try again later."""

    attachment: Attachment
    message: str


class DetachFails(msgspec.Struct, frozen=True):
    attachment: Attachment
    message: str


Step = (
    Protect
    | Unprotect
    | Record
    | DetachFormer
    | Attach
    | Detach
    | MarkAttached
    | AttachFails
    | DetachFails
)
Plan: TypeAlias = steps.Plan[Step]
