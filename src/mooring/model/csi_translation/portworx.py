"""portworxVolume as volumes of `pxd.portworx.com`."""

from typing import Final

from msgspec.structs import replace

from mooring.model.csi_translation.contract import (
    flag,
    inline_volume,
    text,
    with_csi,
    with_raw,
    word,
)
from mooring.model.reference import SecretReference
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource, RawSource
from mooring.model.wellknown import Parameter, Plugin

_SECRET: Final = "openstorage.io/auth-secret-name"  # noqa: S105 - an annotation's name
_SECRET_NAMESPACE: Final = "openstorage.io/auth-secret-namespace"  # noqa: S105 - likewise
_PREFIX: Final = Parameter.CSI_PREFIX
_CALLS: Final = (
    "provisioner",
    "controller-publish",
    "node-publish",
    "node-stage",
    "controller-expand",
    "node-expand",
)


class Portworx:
    plugin = Plugin.PORTWORX
    driver = "pxd.portworx.com"
    source = "portworxVolume"
    attribute = "portworx_volume"
    zone_key = ""

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        csi, notes = self._source(raw), volume.metadata.annotations
        if _SECRET in notes and _SECRET_NAMESPACE in notes:
            secret = SecretReference(notes[_SECRET], notes[_SECRET_NAMESPACE])
            csi = replace(
                csi,
                controller_publish_secret_ref=secret,
                node_stage_secret_ref=secret,
                node_publish_secret_ref=secret,
                controller_expand_secret_ref=secret,
                node_expand_secret_ref=secret,
            )
        return with_csi(volume, self.attribute, csi)

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        raw = {
            "volumeID": csi.volume_handle,
            "fsType": csi.fs_type,
            "readOnly": csi.read_only,
        }
        return with_raw(volume, self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, _name: str, _namespace: str) -> Volume:
        csi = self._source(raw)
        mode = AccessMode.READ_ONLY_MANY if flag(raw, "readOnly") else AccessMode.ONCE
        return inline_volume(f"{self.driver}-{csi.volume_handle}", csi, mode)

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        parameters: dict[str, str] = {}
        for key, value in storage_class.parameters.items():
            match key.lower():
                case name if name == _SECRET:
                    parameters |= {
                        f"{Parameter.CSI_PREFIX}{call}-secret-name": value for call in _CALLS
                    }
                case name if name == _SECRET_NAMESPACE:
                    parameters |= {f"{_PREFIX}{call}-secret-namespace": value for call in _CALLS}
                case _:
                    parameters[key] = value
        return replace(storage_class, provisioner=self.driver, parameters=parameters)

    def repair_handle(self, handle: str, _node_id: str) -> str:
        return handle

    def _source(self, raw: RawSource) -> CsiSource:
        """As upstream, readOnly of the source is not passed on."""
        return CsiSource(self.driver, text(raw, "volumeID"), fs_type=word(raw, "fsType"))
