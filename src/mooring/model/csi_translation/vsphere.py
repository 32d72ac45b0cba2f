"""vsphereVolume as volumes of `csi.vsphere.vmware.com`."""

from typing import Final

from msgspec.structs import replace

from mooring import log
from mooring.model.csi_translation import topology
from mooring.model.csi_translation.contract import (
    FS_TYPE,
    inline_volume,
    text,
    with_csi,
    with_raw,
    word,
)
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource, RawSource
from mooring.model.wellknown import Label, Parameter, Plugin

_log = log.get("mooring.csi_translation")

_POLICY: Final = "storagepolicyname"
_PATH: Final = "initialvolumefilepath"  # an attribute that the driver sets
_RENAMED: Final = frozenset(
    {
        "datastore",
        "diskformat",
        "hostfailurestotolerate",
        "forceprovisioning",
        "cachereservation",
        "diskstripes",
        "objectspacereservation",
        "iopslimit",
    }
)


class Vsphere:
    plugin = Plugin.VSPHERE
    driver = "csi.vsphere.vmware.com"
    source = "vsphereVolume"
    attribute = "vsphere_volume"
    zone_key = "topology.csi.vmware.com/zone"
    region_key = "topology.csi.vmware.com/region"

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        return with_csi(self._placed(volume), self.attribute, self._source(raw))

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        """Of the policy nothing is left; the path is what the driver says of a new volume."""
        raw = {"volumePath": csi.volume_attributes.get(_PATH, ""), "fsType": csi.fs_type}
        terms = topology.terms_of(volume)
        zones = topology.values_of(terms, self.zone_key)
        regions = topology.values_of(terms, self.region_key)
        if zones and regions:
            names = {self.zone_key: Label.ZONE, self.region_key: Label.REGION}
            volume = topology.with_terms(volume, topology.renamed(terms, names))
            labels = {
                **volume.metadata.labels,
                Label.ZONE: zones[0],
                Label.REGION: regions[0],
            }
            volume = replace(volume, metadata=replace(volume.metadata, labels=labels))
        return with_raw(volume, self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, _name: str, _namespace: str) -> Volume:
        csi = self._source(raw)
        return inline_volume(f"{self.driver}-{csi.volume_handle}", csi, AccessMode.ONCE)

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        parameters = {}
        for key, value in storage_class.parameters.items():
            match key.lower():
                case name if name == FS_TYPE:
                    parameters[Parameter.FS_TYPE] = value
                case name if name == _POLICY:
                    parameters[_POLICY] = value
                case name if name in _RENAMED:
                    parameters[f"{name}-migrationparam"] = value
                case _:
                    _log.warning("StorageClass parameter is not supported", name=key, value=value)
        parameters["csimigration"] = "true"
        allowed = topology.allowed_to_csi(storage_class.allowed_topologies, self.zone_key)
        return replace(storage_class, parameters=parameters, allowed_topologies=allowed)

    def repair_handle(self, handle: str, _node_id: str) -> str:
        return handle

    def _placed(self, volume: Volume) -> Volume:
        """Zone and region go together; a label is one value, however it is written."""
        zone, region = topology.label_pair(volume)
        terms, labels = topology.terms_of(volume), volume.metadata.labels
        if topology.values_of(terms, zone) and topology.values_of(terms, region):
            names = {zone: self.zone_key, region: self.region_key}
            return topology.with_terms(volume, topology.renamed(terms, names))
        if not labels.get(zone) or not labels.get(region):
            return volume
        terms = topology.appended(terms, self.zone_key, (labels[zone],))
        terms = topology.appended(terms, self.region_key, (labels[region],))
        return topology.with_terms(volume, terms)

    def _source(self, raw: RawSource) -> CsiSource:
        policy = word(raw, "storagePolicyName")
        return CsiSource(
            self.driver,
            text(raw, "volumePath"),
            fs_type=word(raw, "fsType"),
            volume_attributes={_POLICY: policy} if policy else {},
        )
