"""cinder as volumes of `cinder.csi.openstack.org`."""

from msgspec.structs import replace

from mooring.model.csi_translation import topology
from mooring.model.csi_translation.contract import (
    FS_TYPE,
    flag,
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
from mooring.model.wellknown import Parameter, Plugin


class Cinder:
    """The source's secretRef is lost: the driver has its own credentials."""

    plugin = Plugin.CINDER
    driver = "cinder.csi.openstack.org"
    source = "cinder"
    attribute = "cinder"
    zone_key = "topology.cinder.csi.openstack.org/zone"

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        placed = topology.to_csi(volume, self.zone_key)
        return with_csi(placed, self.attribute, self._source(raw))

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        raw = {
            "volumeID": csi.volume_handle,
            "fsType": csi.fs_type,
            "readOnly": csi.read_only,
        }
        return with_raw(topology.to_in_tree(volume, self.zone_key), self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, _name: str, _namespace: str) -> Volume:
        csi = self._source(raw)
        return inline_volume(f"{self.driver}-{csi.volume_handle}", csi, AccessMode.ONCE)

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        """Zones are in the parameter `availability`, which the driver knows too."""
        parameters = {
            Parameter.FS_TYPE if key.lower() == FS_TYPE else key: value
            for key, value in storage_class.parameters.items()
        }
        allowed = topology.allowed_to_csi(storage_class.allowed_topologies, self.zone_key)
        return replace(storage_class, parameters=parameters, allowed_topologies=allowed)

    def repair_handle(self, handle: str, _node_id: str) -> str:
        return handle

    def _source(self, raw: RawSource) -> CsiSource:
        return CsiSource(
            self.driver,
            text(raw, "volumeID"),
            read_only=flag(raw, "readOnly"),
            fs_type=word(raw, "fsType"),
        )
