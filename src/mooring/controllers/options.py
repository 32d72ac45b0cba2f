"""How the controllers work, as far as people may choose."""

from typing import Protocol

import msgspec

from mooring.controllers.attachment.view import Policy
from mooring.controllers.binding.effects.recycle import HOST_PATH_DEADLINE, NFS_DEADLINE, Deadline
from mooring.controllers.binding.effects.recycler_template import (
    DEFAULT_TEMPLATE,
    HOST_ROOT_TEMPLATE,
)
from mooring.controllers.node_lifecycle.view import Monitoring
from mooring.controllers.snapshots.options import SnapshotOptions
from mooring.model.document import Doc
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.plugins.contract import Deleter, Provisioner
from mooring.plugins.flex.drivers import Drivers

TERMINATED_PODS = 12_500


class HostPath(Provisioner, Deleter, Protocol):
    """The provisioner and deleter of hostPath volumes."""


class Recycling(msgspec.Struct, frozen=True):
    """How released volumes are wiped."""

    nfs: Deadline = NFS_DEADLINE
    host_path: Deadline = HOST_PATH_DEADLINE
    nfs_pod: Doc = msgspec.field(default_factory=lambda: DEFAULT_TEMPLATE)
    host_path_pod: Doc = msgspec.field(default_factory=lambda: DEFAULT_TEMPLATE)


def recycling_for(*, host_rootfs: bool) -> Recycling:
    """Where the host's root stands in for images, wiping a volume needs no registry."""
    pod = HOST_ROOT_TEMPLATE if host_rootfs else DEFAULT_TEMPLATE
    return Recycling(nfs_pod=pod, host_path_pod=pod)


class Options(msgspec.Struct, frozen=True):
    """The defaults are those of kube-controller-manager, but for the grace of silent nodes."""

    host_path: HostPath
    recycling: Recycling = Recycling()
    detaching: Policy = Policy()
    monitoring: Monitoring = Monitoring()
    terminated_pods: int = TERMINATED_PODS  # finished pods that are kept, in the whole cluster
    snapshots: SnapshotOptions = SnapshotOptions()
    release: KubernetesVersion = NEWEST
    protects_claims: bool = True  # else nobody here keeps it true whether they are in use
    flex: Drivers | None = None  # of FlexVolume, on the controllers' machine; None: not served

    @property
    def notes_use(self) -> bool:
        """Whether bound claims say that they are unused."""
        return self.protects_claims and self.release.marks_unused_claims
