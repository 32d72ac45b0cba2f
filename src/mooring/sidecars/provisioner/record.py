"""The record of a CreateVolume request, an annotation of the claim beside the finalizer.

It holds what can be lost before the request is settled: the class may be recreated for another
driver, the chosen node may be deleted, and so may the secret. Every user who may write the claim
may write this too. So it is not trusted with anything that exceeds the rights of a claim's owner:
parameters are not in it, and a secret counts only if a class or a volume of the driver names it.
"""

from typing import Final

import msgspec

from mooring.csi.topology import TopologyRequirement
from mooring.model.claim import Claim
from mooring.model.reference import SecretReference
from mooring.model.wellknown import Annotation, Finalizer

MOST_BYTES: Final = 8 * 1024  # of 256 KiB that all annotations of an object may take


class VolumeRequest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    driver: str
    class_uid: str = ""
    node: str = ""  # that the scheduler chose
    topology: TopologyRequirement | None = None
    is_topology_left_out: bool = False  # it would have been too long
    secret: SecretReference | None = None


def encode(request: VolumeRequest) -> str:
    """As an annotation; the places are left out if they would make it too long."""
    text = msgspec.json.encode(request)
    if len(text) > MOST_BYTES:
        shorter = msgspec.structs.replace(request, topology=None, is_topology_left_out=True)
        text = msgspec.json.encode(shorter)
    return text.decode()


def find_request(claim: Claim) -> VolumeRequest | None:
    """What is on record; None: nothing, or nothing that makes sense, or nothing is open."""
    text = claim.metadata.annotations.get(Annotation.VOLUME_REQUEST, "")
    if not text or len(text) > MOST_BYTES or not is_open(claim):
        return None
    try:
        return msgspec.json.decode(text, type=VolumeRequest)
    except msgspec.MsgspecError:
        return None


def is_open(claim: Claim) -> bool:
    return Finalizer.VOLUME_MAY_EXIST in claim.metadata.finalizers
