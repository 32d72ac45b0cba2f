"""What differs between an object as it was seen and as it is wanted, as merge patches.

Only the fields that the binder may write are looked at; null removes. An annotation map that
becomes empty is removed altogether.
"""

from collections.abc import Mapping

import msgspec

from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.meta import ObjectMeta
from mooring.model.volume import Volume


def volume_patches(seen: Volume, wanted: Volume) -> tuple[Doc, Doc]:
    """For the volume itself, and for its status."""
    main = _metadata(seen.metadata, wanted.metadata)
    before, after = seen.spec.claim_ref, wanted.spec.claim_ref
    if after is None and before is not None:
        main["spec"] = {"claimRef": None}
    elif after is not None and after != before:
        known = {} if before is None else msgspec.to_builtins(before)
        main["spec"] = {"claimRef": _entries(known, msgspec.to_builtins(after))}
    status: Doc = {}
    if wanted.status.phase != seen.status.phase:
        status["phase"] = wanted.status.phase.value
    if wanted.status.message != seen.status.message:
        status["message"] = wanted.status.message or None
    return main, status


def claim_patches(seen: Claim, wanted: Claim) -> tuple[Doc, Doc]:
    """For the claim itself, and for its status."""
    main = _metadata(seen.metadata, wanted.metadata)
    spec: Doc = {}
    if wanted.spec.volume_name != seen.spec.volume_name:
        spec["volumeName"] = wanted.spec.volume_name
    if wanted.spec.storage_class_name != seen.spec.storage_class_name:
        spec["storageClassName"] = wanted.spec.storage_class_name
    if spec:
        main["spec"] = spec
    return main, _claim_status(seen, wanted)


def _claim_status(seen: Claim, wanted: Claim) -> Doc:
    before, after = seen.status, wanted.status
    status: Doc = {}
    if after.phase != before.phase:
        status["phase"] = after.phase.value
    if after.access_modes != before.access_modes:
        status["accessModes"] = [mode.value for mode in after.access_modes] or None
    if after.capacity != before.capacity:
        status["capacity"] = _entries(before.capacity, after.capacity)
    if after.conditions != before.conditions:
        status["conditions"] = msgspec.to_builtins(after.conditions)
    name = after.current_volume_attributes_class_name
    if name != before.current_volume_attributes_class_name:
        status["currentVolumeAttributesClassName"] = name
    return status


def _metadata(seen: ObjectMeta, wanted: ObjectMeta) -> Doc:
    metadata: Doc = {}
    if wanted.annotations != seen.annotations:
        metadata["annotations"] = _entries(seen.annotations, wanted.annotations)
    if wanted.finalizers != seen.finalizers:
        metadata["finalizers"] = list(wanted.finalizers) or None
    return {"metadata": metadata} if metadata else {}


def _entries(seen: Mapping[str, str], wanted: Mapping[str, str]) -> Doc | None:
    if not wanted:
        return None
    changed: Doc = {name: value for name, value in wanted.items() if seen.get(name) != value}
    return changed | {name: None for name in seen if name not in wanted}
