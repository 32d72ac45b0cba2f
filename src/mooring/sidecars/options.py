"""The options of a process's sidecars; each sidecar uses its own part."""

from typing import Final

import msgspec

from mooring.sidecars.provisioner.options import AS_UPSTREAM, ProvisionerOptions
from mooring.sidecars.resizer.options import AS_UPSTREAM as RESIZER_AS_UPSTREAM
from mooring.sidecars.resizer.options import ResizerOptions

CAPACITY_NAMESPACE: Final = "kube-system"


class SidecarOptions(msgspec.Struct, frozen=True):
    provisioner: ProvisionerOptions = AS_UPSTREAM
    capacity_namespace: str = CAPACITY_NAMESPACE  # where CSIStorageCapacity objects go
    identity: str = ""  # of the process, in events; empty: made up when it starts
    resizer: ResizerOptions = RESIZER_AS_UPSTREAM
