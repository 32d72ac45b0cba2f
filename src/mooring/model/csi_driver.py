"""CSIDriver: how the cluster treats the volumes of a driver."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire, Word


class FsGroupPolicy(Word):
    """Whether the node may change the owner of a volume's files."""

    BY_ACCESS_AND_FS_TYPE = "ReadWriteOnceWithFSType"
    FILE = "File"
    NONE = "None"


class LifecycleMode(Word):
    PERSISTENT = "Persistent"
    EPHEMERAL = "Ephemeral"


class TokenRequest(Wire, frozen=True):
    """A service account token that the driver wants at each mount."""

    audience: str = ""
    expiration_seconds: int | None = None


class CsiDriverSpec(Wire, frozen=True):
    attach_required: bool = True
    pod_info_on_mount: bool = False
    volume_lifecycle_modes: tuple[LifecycleMode, ...] = (LifecycleMode.PERSISTENT,)
    storage_capacity: bool = False
    fs_group_policy: FsGroupPolicy = FsGroupPolicy.BY_ACCESS_AND_FS_TYPE
    token_requests: tuple[TokenRequest, ...] = ()
    requires_republish: bool = False
    se_linux_mount: bool = False
    node_allocatable_update_period_seconds: int | None = None
    service_account_token_in_secrets: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CsiDriver(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "storage.k8s.io", "v1", "CSIDriver", "csidrivers", namespaced=False
    )

    spec: CsiDriverSpec = CsiDriverSpec()

    @property
    def serves_inline_volumes(self) -> bool:
        return LifecycleMode.EPHEMERAL in self.spec.volume_lifecycle_modes
