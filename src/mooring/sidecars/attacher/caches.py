"""What an attacher watches."""

from typing import Final

from mooring.model.attachment import Attachment
from mooring.model.csi_node import CsiNode
from mooring.model.volume import Volume
from mooring.reconcile.loops import Loops
from mooring.sidecars.indexes import BY_VOLUME, volumes_of

BY_NODE: Final = "node"
BY_ATTACHER: Final = "attacher"


class Caches:
    """Index functions have names: attachers of many drivers then share the indexes."""

    def __init__(self, loops: Loops) -> None:
        self.attachments = loops.informer(Attachment)
        self.volumes = loops.informer(Volume)
        self.csi_nodes = loops.informer(CsiNode)
        self.attachments.add_index(BY_VOLUME, volumes_of)
        self.attachments.add_index(BY_NODE, _nodes)
        self.attachments.add_index(BY_ATTACHER, _attachers)

    async def synced(self) -> None:
        await self.attachments.synced.wait()
        await self.volumes.synced.wait()
        await self.csi_nodes.synced.wait()


def _nodes(attachment: Attachment) -> tuple[str]:
    return (attachment.spec.node_name,)


def _attachers(attachment: Attachment) -> tuple[str]:
    return (attachment.spec.attacher,)
