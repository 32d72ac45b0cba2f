"""CSI translation: volumes of in-tree plugins as volumes of the CSI drivers that replace them.

The handles, attributes and access modes are those of Kubernetes: a volume that was attached under
one of them must be found under it again.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from mooring.model.csi_migration import DRIVERS, find_migration
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.reference import SecretReference
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource, PersistentSources, RawSource
from mooring.model.wellknown import Label, Plugin

_NOWHERE: Final = "UNSPECIFIED"
_EBS_ID = re.compile(r"vol-[^/]*")
_ACCOUNT = re.compile(r"azure-storage-account-(.+)-secret")
_ZONES_BETWEEN: Final = "__"
_RESOURCE_GROUP: Final = "kubernetes.io/azure-file-resource-group"
_AUTH_SECRET: Final = "openstorage.io/auth-secret-name"  # noqa: S105 - an annotation's name
_AUTH_SECRET_NAMESPACE: Final = "openstorage.io/auth-secret-namespace"  # noqa: S105 - likewise
_UNCHANGED: Final = {"csi", "host_path", "local", "nfs"}
_IN_TREE = {name: None for name in PersistentSources.__struct_fields__ if name not in _UNCHANGED}


class _Unclear(Exception):
    """The source does not say enough to find its volume."""


def translate(volume: Volume) -> Volume | None:
    """The volume with a CSI source: its own, or the translated in-tree one.

    None when no CSI driver serves it, or its source is incomplete.
    """
    if volume.spec.csi is not None:
        return volume
    migration, source = find_migration(volume.spec), volume.spec.find_source()
    if migration is None or source is None or not isinstance(source[1], Mapping):
        return None
    try:
        csi = _SOURCES[migration.plugin](source[1], volume)
    except _Unclear:
        return None
    modes = volume.spec.access_modes
    if migration.plugin == Plugin.GCE_PD:
        modes = _gce_modes(modes)
    return replace(volume, spec=replace(volume.spec, csi=csi, access_modes=modes, **_IN_TREE))


def translate_inline(volume: PodVolume, namespace: str) -> Volume | None:
    """An inline in-tree volume of a pod as a persistent volume; None as `translate`.

    None for an inline CSI volume too: it is made for its pod, and is not attached.
    """
    source = volume.find_source()
    if source is None or not isinstance(source[1], Mapping):
        return None
    field = _FIELDS.get(source[0])
    if field is None:
        return None
    raw = source[1]
    is_shared = raw.get("readOnly") and field in {"gce_persistent_disk", "portworx_volume"}
    mode = AccessMode.READ_ONLY_MANY if is_shared else AccessMode.ONCE
    if field == "azure_file":
        mode = AccessMode.MANY
        raw = {**raw, "secretNamespace": namespace or "default"}
    named = ObjectMeta(name=volume.name)
    spec = replace(VolumeSpec(access_modes=(mode,)), **{field: raw})
    translated = translate(Volume(metadata=named, spec=spec))
    if translated is None or (csi := translated.spec.csi) is None:
        return None
    return replace(translated, metadata=ObjectMeta(name=_inline_name(field, csi, raw)))


def _inline_name(field: str, csi: CsiSource, raw: RawSource) -> str:
    """A name for the volume, unique to its handle, as a persistent volume's name is."""
    if field in {"azure_disk", "azure_file"}:
        return csi.volume_handle
    if field == "gce_persistent_disk":
        return f"{csi.driver}-{raw.get('pdName', '')}"
    return f"{csi.driver}-{csi.volume_handle}"


def _aws(raw: RawSource, _volume: Volume) -> CsiSource:
    handle = _text(raw, "volumeID")
    if handle.startswith("aws://"):
        handle = handle.removeprefix("aws://").partition("/")[2].strip("/")
        if not _EBS_ID.fullmatch(handle):
            raise _Unclear
    attributes = {"partition": str(raw.get("partition", 0))}
    return _source(Plugin.AWS_EBS, handle, raw, attributes)


def _azure_disk(raw: RawSource, _volume: Volume) -> CsiSource:
    if str(raw.get("kind") or "managed").lower() != "managed":
        raise _Unclear
    attributes = {"kind": "managed"}
    if caching := raw.get("cachingMode"):
        attributes["cachingmode"] = str(caching)
    if fs_type := raw.get("fsType"):
        attributes["fstype"] = str(fs_type)
    return _source(Plugin.AZURE_DISK, _text(raw, "diskURI"), raw, attributes)


def _azure_file(raw: RawSource, volume: Volume) -> CsiSource:
    secret, share = _text(raw, "secretName"), _text(raw, "shareName")
    claim = volume.spec.claim_ref
    namespace = raw.get("secretNamespace") or (claim.namespace if claim else "")
    if not namespace:
        raise _Unclear
    found = _ACCOUNT.search(secret)
    account = found.group(1) if found else secret
    group = volume.metadata.annotations.get(_RESOURCE_GROUP, "")
    handle = "#".join((group, account, share, volume.name, str(namespace)))
    source = _source(Plugin.AZURE_FILE, handle, raw, {"sharename": share})
    return replace(
        source, fs_type="", node_stage_secret_ref=SecretReference(secret, str(namespace))
    )


def _cinder(raw: RawSource, _volume: Volume) -> CsiSource:
    return _source(Plugin.CINDER, _text(raw, "volumeID"), raw, {})


def _gce(raw: RawSource, volume: Volume) -> CsiSource:
    labels = volume.metadata.labels
    zones = (labels.get(Label.ZONE_BETA) or labels.get(Label.ZONE, "")).split(_ZONES_BETWEEN)
    place = f"zones/{zones[0] or _NOWHERE}" if len(zones) == 1 else f"regions/{_region(zones)}"
    handle = f"projects/{_NOWHERE}/{place}/disks/{_text(raw, 'pdName')}"
    partition = raw.get("partition")
    return _source(Plugin.GCE_PD, handle, raw, {"partition": str(partition) if partition else ""})


def _portworx(raw: RawSource, volume: Volume) -> CsiSource:
    source = _source(Plugin.PORTWORX, _text(raw, "volumeID"), {**raw, "readOnly": False}, {})
    notes = volume.metadata.annotations
    if _AUTH_SECRET not in notes or _AUTH_SECRET_NAMESPACE not in notes:
        return source
    secret = SecretReference(notes[_AUTH_SECRET], notes[_AUTH_SECRET_NAMESPACE])
    return replace(
        source,
        controller_publish_secret_ref=secret,
        node_stage_secret_ref=secret,
        node_publish_secret_ref=secret,
        controller_expand_secret_ref=secret,
        node_expand_secret_ref=secret,
    )


def _vsphere(raw: RawSource, _volume: Volume) -> CsiSource:
    policy = raw.get("storagePolicyName")
    attributes = {"storagepolicyname": str(policy)} if policy else {}
    return _source(Plugin.VSPHERE, _text(raw, "volumePath"), raw, attributes)


_SOURCES: Final[Mapping[str, Callable[[RawSource, Volume], CsiSource]]] = {
    Plugin.AWS_EBS: _aws,
    Plugin.AZURE_DISK: _azure_disk,
    Plugin.AZURE_FILE: _azure_file,
    Plugin.CINDER: _cinder,
    Plugin.GCE_PD: _gce,
    Plugin.PORTWORX: _portworx,
    Plugin.VSPHERE: _vsphere,
}

_FIELDS: Final[Mapping[str, str]] = {
    "awsElasticBlockStore": "aws_elastic_block_store",
    "azureDisk": "azure_disk",
    "azureFile": "azure_file",
    "cinder": "cinder",
    "gcePersistentDisk": "gce_persistent_disk",
    "portworxVolume": "portworx_volume",
    "vsphereVolume": "vsphere_volume",
}
"""Inline in-tree sources: the field in a pod -> the attribute of `PersistentSources`."""


def _source(plugin: str, handle: str, raw: RawSource, attributes: dict[str, str]) -> CsiSource:
    return CsiSource(
        DRIVERS[plugin],
        handle,
        read_only=bool(raw.get("readOnly")),
        fs_type=str(raw.get("fsType") or ""),
        volume_attributes=attributes,
    )


def _text(raw: RawSource, name: str) -> str:
    value: Any = raw.get(name)
    if not isinstance(value, str) or not value:
        raise _Unclear
    return value


def _region(zones: list[str]) -> str:
    """The region of a regional disk's zones."""
    parts = [zone.split("-") for zone in zones]
    regions = {"-".join(part[:2]) for part in parts}
    if any(len(part) != 3 for part in parts) or len(regions) != 1:
        raise _Unclear
    return regions.pop()


def _gce_modes(modes: tuple[AccessMode, ...]) -> tuple[AccessMode, ...]:
    """ReadOnlyMany if that is the only mode, else ReadWriteOnce: the disk has one writer."""
    if not modes:
        return ()
    only_reads = all(mode is AccessMode.READ_ONLY_MANY for mode in modes)
    return (AccessMode.READ_ONLY_MANY if only_reads else AccessMode.ONCE,)
