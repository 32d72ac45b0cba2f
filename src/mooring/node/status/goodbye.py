"""The last word of a node that leaves on purpose: nothing of its pods is left on this machine.

Who hears it (`controllers/node_lifecycle`) lets pods and volumes move at once, without the wait for
a machine that may still write. So it is said only after the containers have ended and everything
is unmounted. A node that starts again takes it back with its first ready status.
"""

import msgspec
from msgspec.structs import replace

from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.model.condition import Condition, set_condition
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.node import LEFT, Node
from mooring.model.timestamp import to_seconds

GONE = Condition(
    "Ready", "False", LEFT, "the node has ended its containers, unmounted their volumes and left"
)


async def say_goodbye(client: Client, clock: Clock, name: str) -> None:
    """`write_goodbye` for the Node as it is now. Raises: NotFound when there is no such Node."""
    await write_goodbye(client, clock, await client.get(Node, Key("", name)))


async def write_goodbye(client: Client, clock: Clock, node: Node) -> None:
    """Before: nothing of the node's pods runs or is mounted, and `Report` does not run any more.

    After: its Node says so. Repeated: the same. Raises: NotFound, Conflict when somebody wrote to
    the Node after `node` was read, ConnectionLost.
    """
    await client.patch(node, {"status": farewell(node, to_seconds(clock.now()))}, Part.STATUS)


def farewell(node: Node, now: str) -> Doc:
    """What changes in the status of a node that leaves."""
    gone = replace(GONE, last_heartbeat_time=now)
    conditions = set_condition(node.status.conditions, gone, now)
    return {"conditions": msgspec.to_builtins(conditions), "volumesInUse": None}
