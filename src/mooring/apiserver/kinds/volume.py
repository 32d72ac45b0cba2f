"""PersistentVolume: a piece of storage, and the claim that has it."""

import posixpath
from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.access_modes import abbreviate, validate_access_modes
from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.claim import BETA_CLASS_ANNOTATION, CLASS_DEPRECATED, VOLUME_MODES
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.immutability import IMMUTABLE, changes, same
from mooring.apiserver.kinds.node_affinity import (
    validate_affinity_update,
    validate_node_affinity,
    warn_of_labels,
)
from mooring.apiserver.kinds.recurring import is_good
from mooring.apiserver.kinds.resources import is_positive, not_positive, validate_capacity
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.apiserver.kinds.volume_sources import default_sources, sources_in, validate_sources
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required
from mooring.model.names import dns_subdomain

MOUNT_OPTIONS_ANNOTATION = "volume.beta.kubernetes.io/mount-options"

_POLICIES = ("Delete", "Recycle", "Retain")
_TAKES_MOUNT_OPTIONS = frozenset(
    (
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    )
)
_RETIRED_SOURCES = {  # how the warning spells it, deprecated since, without effect since
    "cephfs": ("cephfs", "v1.28", "v1.31"),
    "photonPersistentDisk": ("photonPersistentDisk", "v1.11", "v1.16"),
    "scaleIO": ("scaleIO", "v1.16", "v1.22"),
    "storageos": ("storageOS", "v1.22", "v1.25"),
    "glusterfs": ("glusterfs", "v1.25", "v1.26"),
    "rbd": ("rbd", "v1.28", "v1.31"),
}


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    default_sources(spec)
    status = doc.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def _prepare_create(doc: Doc, context: Context) -> None:
    doc["status"] = {"phase": "Pending", "lastPhaseTransitionTime": context.now}


def _prepare_status(new: Doc, old: Doc, context: Context) -> None:
    """Keep the spec; and note when the phase changed, even if the client forgot to."""
    keep_all_but_status(new, old, context)
    now, before = new["status"], old["status"]
    told, known = now.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    if now["phase"] != before.get("phase"):
        if told in (None, known):
            now["lastPhaseTransitionTime"] = context.now
    elif told is None and known is not None:
        now["lastPhaseTransitionTime"] = known


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec, metadata = doc["spec"], doc["metadata"]
    if modes := spec.get("accessModes"):
        yield from validate_access_modes(modes, "spec")
    else:
        yield required("spec.accessModes")
    yield from _validate_capacity(spec.get("capacity") or {})
    policy = spec["persistentVolumeReclaimPolicy"]
    if policy not in _POLICIES:
        yield not_supported("spec.persistentVolumeReclaimPolicy", policy, _POLICIES)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        yield from validate_node_affinity(affinity, "spec.nodeAffinity")
    yield from validate_sources(spec, "spec", metadata.get("name", ""))
    if affinity is None and "local" in spec:
        yield required("spec.nodeAffinity", "Local volume requires node affinity")
    if policy == "Recycle" and "hostPath" in spec:
        yield from _validate_recycled_path(spec["hostPath"])
    yield from _validate_classes(spec)
    mode = spec["volumeMode"]
    if mode not in VOLUME_MODES:
        yield not_supported("spec.volumeMode", mode, VOLUME_MODES)
    if MOUNT_OPTIONS_ANNOTATION in (metadata.get("annotations") or ()):
        yield from _validate_mount_options(spec)


def _validate_capacity(capacity: dict[str, str]) -> Iterable[FieldError]:
    if len(capacity) == 1 and "storage" in capacity and is_positive(capacity["storage"]):
        return ()
    return _capacity_complaints(capacity)


def _capacity_complaints(capacity: dict[str, str]) -> Iterable[FieldError]:
    if not capacity:
        yield required("spec.capacity")
    if capacity.keys() != {"storage"}:
        yield not_supported("spec.capacity", capacity or None, ("storage",))
    yield from validate_capacity("spec.capacity", capacity)
    for name, amount in capacity.items():
        if not is_positive(amount):
            yield not_positive(f"spec.capacity[{name}]", amount)


def _validate_recycled_path(source: Doc) -> Iterable[FieldError]:
    if posixpath.normpath(source.get("path", "")) in ("/", "//"):
        yield forbidden(
            "spec.persistentVolumeReclaimPolicy",
            "may not be 'recycle' for a hostPath mount of '/'",
        )


def _validate_classes(spec: Doc) -> Iterable[FieldError]:
    name = spec.get("storageClassName")
    attributes = spec.get("volumeAttributesClassName")
    if attributes is None and (not name or is_good(dns_subdomain, name)):
        return ()
    return _class_complaints(spec, name, attributes)


def _class_complaints(spec: Doc, name: str | None, attributes: str | None) -> Iterable[FieldError]:
    if name:
        for problem in dns_subdomain(name):
            yield invalid("spec.storageClassName", name, problem)
    if attributes is None:
        return
    if attributes:
        for problem in dns_subdomain(attributes):
            yield invalid("spec.volumeAttributesClassName", attributes, problem)
    else:
        yield required("spec.volumeAttributesClassName", "an empty string is disallowed")
    if "csi" not in spec:
        yield required("spec.csi", "has to be specified when using volumeAttributesClassName")


def _validate_mount_options(spec: Doc) -> Iterable[FieldError]:
    if _TAKES_MOUNT_OPTIONS.isdisjoint(spec):
        yield forbidden(
            f"metadata.annotations.{MOUNT_OPTIONS_ANNOTATION}",
            "may not specify mount options for this volume type",
        )


def validate_inline_spec(spec: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about a volume spec that stands in an attachment, in place of a volume's name."""
    for field in ("claimRef", "capacity"):
        if spec.get(field):
            yield forbidden(
                f"{path}.{field}", "may not be specified in the context of inline volumes"
            )
    if "csi" not in spec:
        yield required(f"{path}.csi", "has to be specified in the context of inline volumes")
    if modes := spec.get("accessModes"):
        yield from validate_access_modes(modes, path)
    else:
        yield required(f"{path}.accessModes")
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        yield forbidden(
            f"{path}.persistentVolumeReclaimPolicy",
            "may only be Retain in the context of inline volumes",
        )
    if "nodeAffinity" in spec:
        yield forbidden(
            f"{path}.nodeAffinity", "may not be specified in the context of inline volumes"
        )
    yield from validate_sources(spec, path, "")
    if spec.get("storageClassName"):
        yield forbidden(
            f"{path}.storageClassName", "may not be specified in the context of inline volumes"
        )
    if spec.get("volumeMode") not in (None, "Filesystem"):
        yield forbidden(
            f"{path}.volumeMode",
            "may not specify volumeMode other than Filesystem in the context of inline volumes",
        )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new["spec"], old["spec"]
    if now == before:
        return
    source, known = sources_in(now), sources_in(before)
    if "csi" in source and "csi" in known and "controllerExpandSecretRef" not in known["csi"]:
        source["csi"] = {k: v for k, v in source["csi"].items() if k != "controllerExpandSecretRef"}
    if not same(source, known):
        yield forbidden(
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation\n"
            f"{changes(source, known, 'spec')}",
        )
    if now["volumeMode"] != before.get("volumeMode"):
        yield invalid("volumeMode", now["volumeMode"], IMMUTABLE)
    yield from validate_affinity_update(now.get("nodeAffinity"), before.get("nodeAffinity"))
    if "volumeAttributesClassName" in before and "volumeAttributesClassName" not in now:
        yield forbidden(
            "spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"
        )


def _warnings(doc: Doc) -> Iterable[str]:
    spec, annotations = doc["spec"], doc["metadata"].get("annotations") or ()
    if BETA_CLASS_ANNOTATION in annotations:
        yield CLASS_DEPRECATED
    if MOUNT_OPTIONS_ANNOTATION in annotations:
        yield (
            f"metadata.annotations[{MOUNT_OPTIONS_ANNOTATION}]: "
            'deprecated since v1.31; use "mountOptions" attribute instead'
        )
    if spec["persistentVolumeReclaimPolicy"] == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    if "nodeAffinity" in spec:
        yield from warn_of_labels(spec["nodeAffinity"], "spec.nodeAffinity")
    if _RETIRED_SOURCES.keys().isdisjoint(spec):
        return
    for name in spec:
        if name in _RETIRED_SOURCES:
            spelt, deprecated, gone = _RETIRED_SOURCES[name]
            yield f"spec.{spelt}: deprecated in {deprecated}, non-functional in {gone}+"


def _row(doc: Doc, now: str) -> list[Any]:
    metadata, spec, status = doc["metadata"], doc["spec"], doc["status"]
    claim = spec.get("claimRef")
    annotations = metadata.get("annotations") or {}
    return [
        name_of(doc),
        (spec.get("capacity") or {}).get("storage", "0"),
        abbreviate(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if "deletionTimestamp" in metadata else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "",
        annotations.get(BETA_CLASS_ANNOTATION, spec.get("storageClassName", "")),
        spec.get("volumeAttributesClassName", "<unset>"),
        status.get("reason", ""),
        age_of(doc, now),
        spec.get("volumeMode", "<unset>"),
    ]


VOLUME = Kind(
    group="",
    version="v1",
    kind="PersistentVolume",
    plural="persistentvolumes",
    message="core.v1.PersistentVolume",
    namespaced=False,
    short_names=("pv",),
    status=True,
    columns=(
        NAME,
        Column("Capacity"),
        Column("Access Modes"),
        Column("Reclaim Policy"),
        Column("Status"),
        Column("Claim"),
        Column("StorageClass"),
        Column("VolumeAttributesClass"),
        Column("Reason"),
        AGE,
        Column("VolumeMode", wide=True),
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    warnings=_warnings,
)
