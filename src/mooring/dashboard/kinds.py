"""The kinds that the dashboard shows; of pods, only what it looks at, since there are many."""

from typing import ClassVar

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.condition import Condition
from mooring.model.container_status import ContainerStatus
from mooring.model.csi_driver import CsiDriver
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wire import Wire


class ShownClaimSource(Wire, frozen=True):
    claim_name: str = ""


class ShownVolume(Wire, frozen=True):
    name: str = ""
    persistent_volume_claim: ShownClaimSource | None = None
    ephemeral: Wire | None = None


class ShownPodSpec(Wire, frozen=True):
    volumes: tuple[ShownVolume, ...] = ()
    node_name: str = ""


class ShownPodStatus(Wire, frozen=True):
    phase: str = ""
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class ShownPod(ApiObject, frozen=True):
    resource: ClassVar = Pod.resource

    spec: ShownPodSpec = ShownPodSpec()
    status: ShownPodStatus = ShownPodStatus()

    def claim_names(self) -> list[str]:
        names = []
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None:
                names.append(volume.persistent_volume_claim.claim_name)
            elif volume.ephemeral is not None:
                names.append(f"{self.name}-{volume.name}")
        return names


SHOWN: dict[str, type[ApiObject]] = {
    "claims": Claim,
    "volumes": Volume,
    "pods": ShownPod,
    "attachments": Attachment,
    "nodes": Node,
    "classes": StorageClass,
    "drivers": CsiDriver,
}
"""What the feed sends, and what can be looked at as text. Secrets are not among them."""
