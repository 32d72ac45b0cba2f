"""A node that was taken down says so to the cluster that it has joined.

Only then may its pods and volumes move at once. So it is said while nobody can start the node
again, and only by the machine whose name it is: another one under that name may have volumes in
use.
"""

from pathlib import Path

import msgspec
import uvloop

from mooring.client.connect import connect
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import Conflict, MooringError, NotFound
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.node import Node
from mooring.node.instance import find_instance, host_of, is_same
from mooring.node.status.claim import holder_of
from mooring.node.status.goodbye import write_goodbye
from mooring.node.status.heartbeat import NAMESPACE
from mooring.reconcile.deadline import within
from mooring.stack.join import KUBECONFIG, Joined, find_joined

SECONDS = 10.0  # for all of it
TRIES = 5  # when the server or a controller writes to the Node meanwhile


class NotOurs(msgspec.Struct, frozen=True):
    """Why nothing may be said."""

    because: str


def check_holder(holder: str, own: str) -> NotOurs | None:
    """Whether the node's Lease, with this `holder`, is that of the machine that leaves."""
    if is_same(holder, own) and holder:
        return None
    if holder:
        return NotOurs(f"{host_of(holder)} is that node by now")
    return NotOurs("its lease does not say that it was this machine")


def leave_cluster(root: Path, clock: Clock) -> str:
    """Before: nothing of the node's pods runs or is mounted, and its root directory is held.

    After: the cluster that it has joined knows it, or the line says why not; empty: it has joined
    none.
    """
    try:
        joined = find_joined(root)
        if joined is None:
            return ""
        own = find_instance(root)
        told = uvloop.run(_tell(root, clock, joined, own))
    except (MooringError, TimeoutError) as error:
        because = str(error) or f"no answer within {SECONDS:.0f} s"
        return (
            f"the cluster was not told that this node has left ({because}): its volumes move when "
            "the Node is tainted node.kubernetes.io/out-of-service, or by another `mooring down`"
        )
    if isinstance(told, NotOurs):
        return f"{joined.server} was not told that {joined.node} has left: {told.because}"
    return f"the node {joined.node} has left {joined.server}: its pods and volumes move at once"


async def _tell(root: Path, clock: Clock, joined: Joined, own: str) -> NotOurs | None:
    async with within(clock, SECONDS), connect(root / KUBECONFIG, clock) as client:
        return await tell(client, clock, joined.node, own)


async def tell(client: Client, clock: Clock, name: str, own: str) -> NotOurs | None:
    """Raises: ApiError, ConnectionLost."""
    tries = 0
    while True:
        tries += 1
        try:
            node = await client.get(Node, Key("", name))
            if refused := check_holder(await _holder(client, name), own):
                return refused
            await write_goodbye(client, clock, node)
        except NotFound:
            return None  # nothing to move: the pods of a Node that is gone are collected
        except Conflict:  # read both again: it may be another machine
            if tries >= TRIES:
                raise
        else:
            return None


async def _holder(client: Client, name: str) -> str:
    try:
        return holder_of(await client.get(Lease, Key(NAMESPACE, name)))
    except NotFound:
        return ""
