"""The volumes of a pod: their sources, and their mounts in containers."""

from collections.abc import Mapping

import msgspec

from mooring.model.claim import ClaimTemplate
from mooring.model.reference import LocalObjectReference
from mooring.model.removed_source import CephfsSource, GlusterfsSource, QuobyteSource
from mooring.model.selector import SelectorDocument
from mooring.model.volume_source import FcSource, HostPathSource, IscsiSource, NfsSource, RawSource
from mooring.model.wire import Wire


class KeyToPath(Wire, frozen=True):
    key: str
    path: str
    mode: int | None = None


class EmptyDirSource(Wire, frozen=True):
    medium: str = ""
    size_limit: str | None = None


class SecretSource(Wire, frozen=True):
    secret_name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int | None = None
    optional: bool | None = None


class ConfigMapSource(Wire, frozen=True):
    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int | None = None
    optional: bool | None = None


class FieldRef(Wire, frozen=True):
    field_path: str
    api_version: str = "v1"


class ResourceRef(Wire, frozen=True):
    resource: str
    container_name: str = ""
    divisor: str = "0"


class DownwardFile(Wire, frozen=True):
    """A downward API file: a field of the pod, or a resource of one of its containers."""

    path: str
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceRef | None = None
    mode: int | None = None


class DownwardSource(Wire, frozen=True):
    items: tuple[DownwardFile, ...] = ()
    default_mode: int | None = None


class KeyedProjection(Wire, frozen=True):
    """Entries of a secret or a config map."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class TokenProjection(Wire, frozen=True):
    path: str
    audience: str = ""
    expiration_seconds: int | None = None


class TrustBundleProjection(Wire, frozen=True):
    path: str
    name: str | None = None
    signer_name: str | None = None
    label_selector: SelectorDocument | None = None
    optional: bool | None = None


class Projection(Wire, frozen=True):
    secret: KeyedProjection | None = None
    config_map: KeyedProjection | None = None
    downward_api: DownwardSource | None = msgspec.field(name="downwardAPI", default=None)
    service_account_token: TokenProjection | None = None
    cluster_trust_bundle: TrustBundleProjection | None = None
    pod_certificate: RawSource | None = None


class ProjectedSource(Wire, frozen=True):
    sources: tuple[Projection, ...] | None = None
    default_mode: int | None = None


class ClaimSource(Wire, frozen=True):
    claim_name: str
    read_only: bool = False


class EphemeralSource(Wire, frozen=True):
    """A claim that is created and deleted with the pod."""

    volume_claim_template: ClaimTemplate | None = None


class InlineCsiSource(Wire, frozen=True):
    """A volume that a CSI driver makes for this pod alone."""

    driver: str
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: Mapping[str, str] = msgspec.field(default_factory=dict)
    node_publish_secret_ref: LocalObjectReference | None = None


class ImageSource(Wire, frozen=True):
    reference: str = ""
    pull_policy: str = ""


class GitRepoSource(Wire, frozen=True):
    repository: str = ""
    revision: str = ""
    directory: str = ""


class PodVolume(Wire, frozen=True, kw_only=True):
    """A volume of a pod; validation ensures that exactly one source is set."""

    name: str

    config_map: ConfigMapSource | None = None
    csi: InlineCsiSource | None = None
    downward_api: DownwardSource | None = msgspec.field(name="downwardAPI", default=None)
    empty_dir: EmptyDirSource | None = None
    ephemeral: EphemeralSource | None = None
    cephfs: CephfsSource | None = None
    fc: FcSource | None = None
    glusterfs: GlusterfsSource | None = None
    git_repo: GitRepoSource | None = None
    host_path: HostPathSource | None = None
    image: ImageSource | None = None
    iscsi: IscsiSource | None = None
    nfs: NfsSource | None = None
    quobyte: QuobyteSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    projected: ProjectedSource | None = None
    secret: SecretSource | None = None

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


_SOURCE_FIELDS = tuple(field for field in msgspec.structs.fields(PodVolume) if field.name != "name")


class VolumeMount(Wire, frozen=True):
    name: str
    mount_path: str
    read_only: bool = False
    recursive_read_only: str | None = None
    sub_path: str = ""
    sub_path_expr: str = ""
    mount_propagation: str | None = None


class VolumeDevice(Wire, frozen=True):
    name: str
    device_path: str
