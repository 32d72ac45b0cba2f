"""What an attacher watches; many drivers share one of these."""

from typing import Final

from mooring.model.attachment import Attachment
from mooring.model.csi_node import CsiNode
from mooring.model.volume import Volume
from mooring.sidecars.indexes import BY_VOLUME, volumes_of
from mooring.sidecars.watched import Watched

BY_NODE: Final = "node"
BY_ATTACHER: Final = "attacher"


class Caches:
    def __init__(
        self,
        attachments: Watched[Attachment],
        volumes: Watched[Volume],
        csi_nodes: Watched[CsiNode],
    ) -> None:
        self.attachments = attachments
        self.volumes = volumes
        self.csi_nodes = csi_nodes
        attachments.cache.add_index(BY_VOLUME, volumes_of)
        attachments.cache.add_index(BY_NODE, lambda attachment: (attachment.spec.node_name,))
        attachments.cache.add_index(BY_ATTACHER, lambda attachment: (attachment.spec.attacher,))

    async def synced(self) -> None:
        await self.attachments.cache.synced.wait()
        await self.volumes.cache.synced.wait()
        await self.csi_nodes.cache.synced.wait()
