"""awsElasticBlockStore as volumes of `ebs.csi.aws.com`."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

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
from mooring.model.wellknown import Plugin

_VOLUME_ID = re.compile(r"vol-[^/]*")
_WITH_ZONE = "aws://"


class AwsEbs:
    plugin = Plugin.AWS_EBS
    driver = "ebs.csi.aws.com"
    source = "awsElasticBlockStore"
    attribute = "aws_elastic_block_store"
    zone_key = "topology.ebs.csi.aws.com/zone"

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        placed = topology.to_csi(volume, self.zone_key)
        return with_csi(placed, self.attribute, self._source(raw))

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        raw = {
            "volumeID": csi.volume_handle,
            "fsType": csi.fs_type,
            "readOnly": csi.read_only,
            "partition": number(csi.volume_attributes, "partition") or None,
        }
        placed = topology.to_in_tree(volume, self.zone_key, region_of)
        return with_raw(placed, self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, _name: str, _namespace: str) -> Volume:
        csi = self._source(raw)
        return inline_volume(f"{self.driver}-{csi.volume_handle}", csi, AccessMode.ONCE)

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        translated = topology.class_to_csi(storage_class, self.zone_key)
        parameters = dict(translated.parameters)
        if any(key.lower() == "iopspergb" for key in parameters):
            parameters["allowautoiopspergbincrease"] = "true"
        return replace(translated, parameters=parameters)

    def repair_handle(self, handle: str, _node_id: str) -> str:
        return handle

    def _source(self, raw: RawSource) -> CsiSource:
        return CsiSource(
            self.driver,
            handle_of(text(raw, "volumeID")),
            read_only=flag(raw, "readOnly"),
            fs_type=word(raw, "fsType"),
            volume_attributes={"partition": str(raw.get("partition") or 0)},
        )


def handle_of(volume_id: str) -> str:
    """`aws://<zone>/<volume>` is an old way to write `<volume>`. Raises: TranslationError."""
    if not volume_id.startswith(_WITH_ZONE):
        return volume_id
    handle = volume_id.removeprefix(_WITH_ZONE).partition("/")[2].strip("/")
    if not _VOLUME_ID.fullmatch(handle):
        raise TranslationError(f"Invalid format for AWS volume ({volume_id})")
    return handle


def region_of(zones: Iterable[str]) -> str:
    """Raises: TranslationError unless the zones are of one region."""
    regions = {_region(zone) for zone in zones}
    if len(regions) != 1:
        raise TranslationError(f"multiple regions or none found in zones: {sorted(regions)}")
    return regions.pop()


def _region(zone: str) -> str:
    """us-west-2a is in us-west-2; local and wavelength zones begin with their region."""
    parts = zone.split("-")
    if len(parts) in (5, 7):
        return "-".join(parts[:3])
    if len(parts) in (3, 4) and zone[-1:].isalpha() and zone[-2:-1].isdigit():
        return zone[:-1]
    raise TranslationError(f"Unexpected zone: {zone}")
