"""rbd as volumes of `rbd.csi.ceph.com`, as Kubernetes 1.23 to 1.30 translated it.

It was never on unless asked for, and it is not on here: see `csi_migration`.
"""

import hashlib
from collections.abc import Iterable
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
from mooring.model.wellknown import Parameter, Plugin

HANDLE: Final = "rbd.csi.ceph.com/volume-handle"  # an annotation
_CLUSTER, _JOURNAL, _FEATURES, _FORMAT = "clusterID", "journalPool", "imageFeatures", "imageFormat"
_NOTED: Final = (_CLUSTER, _JOURNAL, _FEATURES, _FORMAT)
_DYNAMIC: Final = "kubernetes-dynamic-pvc-"
_POOL: Final = "rbd"
_LAYERING: Final = "layering"
_CALLS: Final = ("provisioner", "node-stage", "controller-expand")


class Rbd:
    """The way back loses monitors and keyring: the driver knows clusters by an id alone."""

    plugin = Plugin.RBD
    driver = "rbd.csi.ceph.com"
    source = "rbd"
    attribute = "rbd"
    zone_key = ""

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        notes, cluster = volume.metadata.annotations, cluster_id(raw.get("monitors") or ())
        image, pool = text(raw, "image"), word(raw, "pool")
        if handle := notes.get(HANDLE, ""):
            attributes = {_CLUSTER: notes.get(_CLUSTER, "")}
        else:
            suffix = image.removeprefix(_DYNAMIC)
            handle = f"mig_mons-{cluster}_image-{suffix}_{pool.encode().hex()}"
            attributes = {_CLUSTER: cluster, "staticVolume": "true"}
        attributes |= {
            "imageName": image,
            "pool": pool,
            _FEATURES: notes.get(_FEATURES) or _LAYERING,
            _FORMAT: notes.get(_FORMAT, ""),
            _JOURNAL: notes.get(_JOURNAL, ""),
            "migration": "true",
            "tryOtherMounters": "true",
        }
        mode = _mode(raw)
        csi = _with_secret(self._csi(raw, handle, attributes), _secret(raw))
        return with_csi(volume, self.attribute, csi, access_modes=(mode,))

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        attributes, secret = csi.volume_attributes, csi.node_stage_secret_ref
        raw = {
            "monitors": [""],
            "image": attributes.get("imageName", ""),
            "pool": attributes.get("pool", ""),
            "user": attributes.get("adminId") or "admin",
            "fsType": csi.fs_type,
            "readOnly": csi.read_only,
            "secretRef": secret and {"name": secret.name, "namespace": secret.namespace},
        }
        noted = {name: attributes.get(name, "") for name in _NOTED}
        notes = {**volume.metadata.annotations, HANDLE: csi.volume_handle, **noted}
        noted_volume = replace(volume, metadata=replace(volume.metadata, annotations=notes))
        return with_raw(noted_volume, self.attribute, raw)

    def inline_to_csi(self, raw: RawSource, _name: str, namespace: str) -> Volume:
        image = text(raw, "image")
        attributes = {
            _CLUSTER: cluster_id(raw.get("monitors") or ()),
            "pool": word(raw, "pool") or _POOL,
            "staticVolume": "true",
            _FEATURES: _LAYERING,
        }
        csi = _with_secret(self._csi(raw, image, attributes), _secret(raw, namespace))
        return inline_volume(f"{self.driver}-{image}", csi, _mode(raw))

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        given = {key.lower(): value for key, value in storage_class.parameters.items()}
        if not given.get("adminsecretname"):
            raise TranslationError("missing Ceph admin secret name")
        if not given.get("monitors"):
            raise TranslationError("missing Ceph monitors")
        parameters = {"migration": "true", "pool": given.get("pool", _POOL)}
        for call in _CALLS:
            prefix = f"{Parameter.CSI_PREFIX}{call}-secret"
            parameters[f"{prefix}-name"] = given["adminsecretname"]
            parameters[f"{prefix}-namespace"] = given.get("adminsecretnamespace", "default")
        parameters["monitors"] = given["monitors"]
        parameters[_CLUSTER] = cluster_id([given["monitors"]])
        for name in ("adminId", _FEATURES, _FORMAT):
            if name.lower() in given:
                parameters[name] = given[name.lower()]
        if "fstype" in given:
            parameters[Parameter.FS_TYPE] = given["fstype"]
        return replace(storage_class, provisioner=self.driver, parameters=parameters)

    def repair_handle(self, handle: str, _node_id: str) -> str:
        return handle

    def _csi(self, raw: RawSource, handle: str, attributes: dict[str, str]) -> CsiSource:
        return CsiSource(
            self.driver, handle, fs_type=word(raw, "fsType"), volume_attributes=attributes
        )


def cluster_id(monitors: Iterable[str]) -> str:
    return hashlib.md5(",".join(monitors).encode(), usedforsecurity=False).hexdigest()


def _mode(raw: RawSource) -> AccessMode:
    return AccessMode.READ_ONLY_MANY if flag(raw, "readOnly") else AccessMode.ONCE


def _secret(raw: RawSource, namespace: str = "") -> SecretReference | None:
    reference = raw.get("secretRef")
    if not reference:
        return None
    return SecretReference(word(reference, "name"), namespace or word(reference, "namespace"))


def _with_secret(csi: CsiSource, secret: SecretReference | None) -> CsiSource:
    return replace(csi, node_stage_secret_ref=secret, controller_expand_secret_ref=secret)
