"""The volume sources of persistent volumes.

Sources that Mooring acts on are typed. The others, which a CSI driver has taken over or no plugin
serves any more, are kept as JSON, so that they can still be identified.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.model.reference import SecretReference
from mooring.model.removed_source import CephfsSource, GlusterfsSource, QuobyteSource
from mooring.model.wire import Wire

RawSource = Mapping[str, Any]


class HostPathSource(Wire, frozen=True):
    path: str
    type: str = ""


class LocalSource(Wire, frozen=True):
    path: str
    fs_type: str | None = None


class NfsSource(Wire, frozen=True):
    server: str
    path: str
    read_only: bool = False


class IscsiSource(Wire, frozen=True):
    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    iscsi_interface: str = "default"
    fs_type: str = ""
    read_only: bool = False
    portals: tuple[str, ...] = ()
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: SecretReference | None = None  # in a pod it has no namespace
    initiator_name: str | None = None


class FcSource(Wire, frozen=True):
    """Either `target_wwns` and `lun`, or `wwids`."""

    target_wwns: tuple[str, ...] = msgspec.field(name="targetWWNs", default=())
    lun: int | None = None
    fs_type: str = ""
    read_only: bool = False
    wwids: tuple[str, ...] = ()


class CsiSource(Wire, frozen=True):
    driver: str
    volume_handle: str
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: Mapping[str, str] = msgspec.field(default_factory=dict)
    controller_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    controller_expand_secret_ref: SecretReference | None = None
    node_expand_secret_ref: SecretReference | None = None


class PersistentSources(Wire, frozen=True, kw_only=True):
    """All sources of a volume's spec; validation ensures that exactly one is set."""

    csi: CsiSource | None = None
    host_path: HostPathSource | None = None
    cephfs: CephfsSource | None = None
    fc: FcSource | None = None
    glusterfs: GlusterfsSource | None = None
    iscsi: IscsiSource | None = None
    local: LocalSource | None = None
    nfs: NfsSource | None = None
    quobyte: QuobyteSource | None = None

    aws_elastic_block_store: RawSource | None = None
    azure_disk: RawSource | None = None
    azure_file: RawSource | None = None
    cinder: RawSource | None = None
    flex_volume: RawSource | None = None
    flocker: RawSource | None = None
    gce_persistent_disk: RawSource | None = None
    photon_persistent_disk: RawSource | None = None
    portworx_volume: RawSource | None = None
    rbd: RawSource | None = None
    scale_io: RawSource | None = msgspec.field(name="scaleIO", default=None)
    storageos: RawSource | None = None
    vsphere_volume: RawSource | None = None

    def find_source(self) -> tuple[str, Wire | RawSource] | None:
        """The one source that is set, with its name in the API."""
        for field in _SOURCE_FIELDS:
            source = getattr(self, field.name)
            if source is not None:
                return field.encode_name, source
        return None


_SOURCE_FIELDS = msgspec.structs.fields(PersistentSources)
