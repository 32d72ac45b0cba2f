"""azureFile as volumes of `file.csi.azure.com`."""

import re
from typing import Final

from msgspec.structs import replace

from mooring.model.csi_translation.contract import (
    TranslationError,
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
from mooring.model.wellknown import Plugin

RESOURCE_GROUP: Final = "kubernetes.io/azure-file-resource-group"
_ACCOUNT = re.compile(r"azure-storage-account-(.+)-secret")
_DEFAULT: Final = "default"
_LEAST_PARTS = 3  # group, account, share


class AzureFile:
    plugin = Plugin.AZURE_FILE
    driver = "file.csi.azure.com"
    source = "azureFile"
    attribute = "azure_file"
    zone_key = ""

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        claim = volume.spec.claim_ref
        namespace = word(raw, "secretNamespace") or (claim.namespace if claim else "")
        if not namespace:
            raise TranslationError(
                "could not find a secret namespace in PersistentVolumeSource or ClaimRef"
            )
        group = volume.metadata.annotations.get(RESOURCE_GROUP, "")
        return with_csi(volume, self.attribute, self._source(raw, group, volume.name, namespace))

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        attributes = {key.lower(): value for key, value in csi.volume_attributes.items()}
        share, secret = attributes.get("sharename", ""), attributes.get("secretname", "")
        namespace, group = attributes.get("secretnamespace", ""), ""
        reference = csi.node_stage_secret_ref
        if reference is not None and reference.name:
            secret, namespace = reference.name, reference.namespace
        if not share or not secret:
            parts = csi.volume_handle.split("#")
            if len(parts) < _LEAST_PARTS:
                raise TranslationError(
                    f'error parsing volume id: "{csi.volume_handle}", should at least contain two #'
                )
            group, account = parts[0], parts[1]
            share = share or parts[2]
            secret = secret or f"azure-storage-account-{account}-secret"
        raw = {
            "shareName": share,
            "secretName": secret,
            "secretNamespace": namespace or _DEFAULT,
            "readOnly": csi.read_only,
        }
        if group:
            notes = {**volume.metadata.annotations, RESOURCE_GROUP: group}
            volume = replace(volume, metadata=replace(volume.metadata, annotations=notes))
        return with_raw(volume, self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, name: str, namespace: str) -> Volume:
        csi = self._source(raw, "", name, namespace or _DEFAULT)
        return inline_volume(csi.volume_handle, csi, AccessMode.MANY)

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        return storage_class

    def repair_handle(self, handle: str, _node_id: str) -> str:
        return handle

    def _source(self, raw: RawSource, group: str, name: str, namespace: str) -> CsiSource:
        secret, share = text(raw, "secretName"), text(raw, "shareName")
        found = _ACCOUNT.search(secret)
        account = found[1] if found else secret
        return CsiSource(
            self.driver,
            "#".join((group, account, share, name, namespace)),
            read_only=flag(raw, "readOnly"),
            volume_attributes={"sharename": share},
            node_stage_secret_ref=SecretReference(secret, namespace),
        )
