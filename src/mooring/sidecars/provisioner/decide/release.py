"""Which claims the finalizer of Mooring's provisioner holds for nothing, and what others stand for.

For `mooring sidecar release`: before Mooring is taken off a cluster, or after.

Always true of the verdicts:
- There is one for each claim that has the finalizer (of the driver, if one is given), and no other.
- `Removable` only if the volume named after the claim exists and is reserved for this very claim.
"""

from collections.abc import Iterable, Mapping

import msgspec

from mooring.model.claim import Claim
from mooring.model.may_destroy import handle_of
from mooring.model.volume import Volume
from mooring.sidecars.provisioner.draft import volume_name
from mooring.sidecars.provisioner.record import find_request, is_open


class Removable(msgspec.Struct, frozen=True):
    """The volume has a PersistentVolume: the finalizer may be removed."""

    claim: Claim
    because: str


class NeedsAbandon(msgspec.Struct, frozen=True):
    """Without the finalizer a volume that may exist would be lost."""

    claim: Claim
    left: str


def decide_release(
    claims: Iterable[Claim], volumes: Iterable[Volume], driver: str = ""
) -> list[Removable | NeedsAbandon]:
    """Of every claim that is held; with `driver`, of those that this driver was asked about."""
    by_name = {volume.name: volume for volume in volumes}
    held = sorted((claim for claim in claims if is_open(claim)), key=lambda claim: claim.key)
    return [_judge(claim, by_name) for claim in held if driver in ("", _driver_of(claim))]


def _judge(claim: Claim, volumes: Mapping[str, Volume]) -> Removable | NeedsAbandon:
    name = volume_name(claim)
    made = volumes.get(name)
    reference = None if made is None else made.spec.claim_ref
    if reference is not None and reference.uid == claim.uid:
        return Removable(claim, f"persistentvolume {name} tells of its volume")
    driver = _driver_of(claim) or "its driver"
    left = f"a volume that {driver} calls {name}, if its last CreateVolume made one"
    bound = volumes.get(claim.spec.volume_name)
    handle = None if bound is None else handle_of(bound)
    if bound is not None and handle is not None and handle[0] == driver:
        left = f"{left} and it is not {handle[1]}, which persistentvolume {bound.name} has"
    return NeedsAbandon(claim, left)


def _driver_of(claim: Claim) -> str:
    request = find_request(claim)
    return request.driver if request else claim.provisioner
