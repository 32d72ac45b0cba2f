"""The options of a process's sidecars; each sidecar uses its own part."""

from typing import Final, Self

import msgspec
from msgspec.structs import replace

from mooring.model.feature_gates import FeatureGates
from mooring.sidecars.provisioner.options import AS_UPSTREAM, ProvisionerOptions
from mooring.sidecars.resizer.options import AS_UPSTREAM as RESIZER_AS_UPSTREAM
from mooring.sidecars.resizer.options import ResizerOptions
from mooring.sidecars.snapshotter.options import SNAPSHOTTER_AS_UPSTREAM, SnapshotterOptions

CAPACITY_NAMESPACE: Final = "kube-system"


class SidecarOptions(msgspec.Struct, frozen=True):
    provisioner: ProvisionerOptions = AS_UPSTREAM
    capacity_namespace: str = CAPACITY_NAMESPACE  # where CSIStorageCapacity objects go
    snapshotter: SnapshotterOptions = SNAPSHOTTER_AS_UPSTREAM
    identity: str = ""  # of the process, in events; empty: made up when it starts
    node: str = ""  # serve what is on this node alone; empty: everything
    resizer: ResizerOptions = RESIZER_AS_UPSTREAM

    def with_timeout(self, seconds: float) -> Self:
        """Every call that has a time of its own in upstream's flags has this one."""
        return replace(
            self,
            provisioner=replace(self.provisioner, call_seconds=seconds),
            resizer=replace(self.resizer, call_seconds=seconds),
            snapshotter=replace(self.snapshotter, call_seconds=seconds),
        )

    def with_gates(self, gates: FeatureGates) -> Self:
        across = gates.cross_namespace
        return replace(self, provisioner=replace(self.provisioner, cross_namespace=across))

    def with_extra_metadata(self, *, on: bool) -> Self:
        return replace(
            self,
            provisioner=replace(self.provisioner, extra_create_metadata=on),
            snapshotter=replace(self.snapshotter, extra_create_metadata=on),
        )
