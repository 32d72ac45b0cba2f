"""Reading what is looked at only because something that was read points at it."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from mooring.client.contract import Scope
from mooring.controllers.attachment.resolve import needs_attaching
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.daemon_set import DaemonSet
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.webhook_configuration import MutatingConfiguration, ValidatingConfiguration
from mooring.why.mounting import volumes_of
from mooring.why.read import Reading
from mooring.why.registrar import drivers_of, drivers_of_claims, is_required


async def read_webhooks(reading: Reading) -> None:
    """If somebody tells of one."""
    if any("webhook" in event.message for event in reading.world().all(Event)):
        await asyncio.gather(
            reading.list(ValidatingConfiguration), reading.list(MutatingConfiguration)
        )


async def read_plugins(reading: Reading, pod: Pod) -> None:
    """Where a driver of the pod's volumes should come from, if its node does not have it."""
    world, node = reading.world(), pod.spec.node_name
    wanted = drivers_of(pod, volumes_of(world, pod))
    csi = await reading.get(CsiNode, Key("", node)) if wanted else None
    if csi is not None and any(csi.find_driver(name) is None for name in wanted):
        await asyncio.gather(
            reading.list(Pod, Scope(fields=f"spec.nodeName={node}")), reading.list(DaemonSet)
        )


async def read_required_plugins(reading: Reading, claims: Sequence[Claim]) -> None:
    """Where a driver should come from that nodes lack, and that takes no pod there."""
    world = reading.world()
    required = [one for one in drivers_of_claims(world, claims) if is_required(world, one)]
    nodes = world.all(CsiNode)
    if any(node.find_driver(name) is None for node in nodes for name in required):
        await reading.list(DaemonSet)


async def read_full_nodes(reading: Reading, claims: Sequence[Claim]) -> None:
    """What counts against the limits of nodes, where a driver of the claims has one."""
    world = reading.world()
    wanted = drivers_of_claims(world, claims)
    held = Counter((each.spec.node_name, each.spec.attacher) for each in world.all(Attachment))
    for node in world.all(CsiNode):
        for driver in node.spec.drivers or ():
            if driver.name not in wanted or driver.most_volumes is None:
                continue
            if not needs_attaching(world.find(CsiDriver, Key("", driver.name))):
                await asyncio.gather(reading.list(Volume), reading.list(Claim))
                return
            if held[node.name, driver.name] >= driver.most_volumes:
                await reading.list(Volume)
                return
