"""gcePersistentDisk as volumes of `pd.csi.storage.gke.io`."""

from collections.abc import Iterable
from typing import Final

from mooring.model.csi_translation import topology
from mooring.model.csi_translation.contract import (
    TranslationError,
    flag,
    inline_volume,
    number,
    text,
    with_csi,
    with_raw,
    word,
)
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource, RawSource
from mooring.model.wellknown import Label, Plugin

UNSPECIFIED: Final = "UNSPECIFIED"
_PARTS = 6  # projects/P/zones/Z/disks/D
_PROJECT, _SCOPE, _PLACE, _DISK = 1, 2, 3, 5


class GcePd:
    plugin = Plugin.GCE_PD
    driver = "pd.csi.storage.gke.io"
    source = "gcePersistentDisk"
    attribute = "gce_persistent_disk"
    zone_key = "topology.gke.io/zone"

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        labels = volume.metadata.labels
        zones = (labels.get(Label.ZONE_BETA) or labels.get(Label.ZONE, "")).split(
            topology.MANY_ZONES
        )
        place = f"zones/{zones[0] or UNSPECIFIED}"
        if len(zones) > 1:
            place = f"regions/{region_of(zones)}"
        placed = topology.to_csi(volume, self.zone_key)
        modes = one_writer(volume.spec.access_modes)
        return with_csi(placed, self.attribute, self._source(raw, place), access_modes=modes)

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        parts = csi.volume_handle.split("/")
        if len(parts) < _PARTS:
            raise TranslationError(
                f"failed to get disk from volume handle {csi.volume_handle}:"
                f" expected at least {_PARTS} elements"
            )
        raw = {
            "pdName": parts[_DISK],
            "fsType": csi.fs_type,
            "readOnly": csi.read_only,
            "partition": number(csi.volume_attributes, "partition") or None,
        }
        placed = topology.to_in_tree(volume, self.zone_key, region_of)
        return with_raw(placed, self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, _name: str, _namespace: str) -> Volume:
        csi = self._source(raw, f"zones/{UNSPECIFIED}")
        mode = AccessMode.READ_ONLY_MANY if csi.read_only else AccessMode.ONCE
        return inline_volume(f"{self.driver}-{text(raw, 'pdName')}", csi, mode)

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        return topology.class_to_csi(storage_class, self.zone_key)

    def repair_handle(self, handle: str, node_id: str) -> str:
        """Project and place of the node, where the handle does not say its own."""
        parts, node = handle.split("/"), node_id.split("/")
        if len(parts) != _PARTS:
            raise TranslationError(f"volume handle has wrong number of elements: {handle}")
        if parts[_PROJECT] != UNSPECIFIED:
            return handle
        if len(node) != _PARTS:
            raise TranslationError(f"node id has wrong number of elements: {node_id}")
        parts[_PROJECT] = node[_PROJECT]
        if parts[_PLACE] == UNSPECIFIED:
            is_zonal = parts[_SCOPE] == "zones"
            parts[_PLACE] = node[_PLACE] if is_zonal else region_of((node[_PLACE],))
        return "/".join(parts)

    def _source(self, raw: RawSource, place: str) -> CsiSource:
        return CsiSource(
            self.driver,
            f"projects/{UNSPECIFIED}/{place}/disks/{text(raw, 'pdName')}",
            read_only=flag(raw, "readOnly"),
            fs_type=word(raw, "fsType"),
            volume_attributes={"partition": word(raw, "partition")},
        )


def one_writer(modes: tuple[AccessMode, ...]) -> tuple[AccessMode, ...]:
    """ReadOnlyMany if that is the only mode, else ReadWriteOnce: the disk has one writer."""
    if not modes:
        return ()
    only_reads = all(mode is AccessMode.READ_ONLY_MANY for mode in modes)
    return (AccessMode.READ_ONLY_MANY if only_reads else AccessMode.ONCE,)


def region_of(zones: Iterable[str]) -> str:
    """Raises: TranslationError unless the zones are of one region."""
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(f"zone in unexpected format, expected us-central1-a: {zone}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise TranslationError(f"multiple or no regions gotten from zones, got: {sorted(regions)}")
    return regions.pop()
