"""azureDisk as volumes of `disk.csi.azure.com`."""

import re

from msgspec.structs import replace

from mooring.model.csi_translation import topology
from mooring.model.csi_translation.contract import (
    TranslationError,
    flag,
    inline_volume,
    text,
    with_csi,
    with_raw,
    word,
)
from mooring.model.storage_class import StorageClass, TopologyRequirement, TopologyTerm
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource, RawSource
from mooring.model.wellknown import Plugin

_MANAGED = "Managed"
_DISK = re.compile(
    r".*/subscriptions/.*/resourceGroups/.*/providers/Microsoft\.Compute/disks/(.+)"
    r"|http.*://.*/vhds/(.+)"
)


class AzureDisk:
    plugin = Plugin.AZURE_DISK
    driver = "disk.csi.azure.com"
    source = "azureDisk"
    attribute = "azure_disk"
    zone_key = "topology.disk.csi.azure.com/zone"

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        """Node affinity stays as it is."""
        return with_csi(volume, self.attribute, self._source(raw))

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        found = _DISK.fullmatch(csi.volume_handle)
        if found is None:
            raise TranslationError(f"could not get disk name from {csi.volume_handle}")
        attributes = {key.lower(): value for key, value in csi.volume_attributes.items()}
        raw = {
            "diskName": found[1] or found[2],
            "diskURI": csi.volume_handle,
            "kind": _MANAGED,
            "cachingMode": attributes.get("cachingmode"),
            "fsType": attributes.get("fstype") or csi.fs_type,
            "readOnly": csi.read_only,
        }
        return with_raw(volume, self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, _name: str, _namespace: str) -> Volume:
        csi = self._source(raw)
        return inline_volume(csi.volume_handle, csi, AccessMode.ONCE)

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        translated = topology.class_to_csi(storage_class, self.zone_key, moves_fs_type=False)
        allowed = tuple(
            TopologyTerm(tuple(map(self._unzoned, term.match_label_expressions)))
            for term in translated.allowed_topologies
        )
        return replace(translated, allowed_topologies=allowed)

    def repair_handle(self, handle: str, _node_id: str) -> str:
        return handle

    def _unzoned(self, wanted: TopologyRequirement) -> TopologyRequirement:
        """A number is a fault domain, not a zone; the driver calls that place ""."""
        if wanted.key != self.zone_key:
            return wanted
        values = ("" if value.isdecimal() else value for value in wanted.values)
        return replace(wanted, values=tuple(values))

    def _source(self, raw: RawSource) -> CsiSource:
        kind = raw.get("kind")
        if kind is not None and str(kind).lower() != _MANAGED.lower():
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        attributes = {"kind": _MANAGED}
        if caching := word(raw, "cachingMode"):
            attributes["cachingmode"] = caching
        if fs_type := word(raw, "fsType"):
            attributes["fstype"] = fs_type
        return CsiSource(
            self.driver,
            text(raw, "diskURI"),
            read_only=flag(raw, "readOnly"),
            fs_type=fs_type,
            volume_attributes=attributes,
        )
