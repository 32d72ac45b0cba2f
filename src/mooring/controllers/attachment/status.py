"""The lists of attached volumes that nodes go by: `status.volumesAttached`, with one writer.

A node mounts nothing that is not in its list, and says in `volumesInUse` what it uses before it
looks there. So a volume that is off the list, and then found unused, may be detached. The
answer to the write that takes it off is that look: it shows the node as it is from then on.

Whatever is to be said about a node goes in one write; while one is under way, the next gathers.
"""

import asyncio
from collections.abc import Callable, Collection

import msgspec

from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.controllers.attachment.actual import VolumeOnNode
from mooring.errors import ApiError, Conflict, ConnectionLost, NotFound
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.reconcile.informer import Informer
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict


class Pause(msgspec.Struct, frozen=True):
    """Between two writes about one node, of which the first goes at once. A server that takes long
    over a write is busy: the next one gathers more."""

    least: float  # seconds
    writes: int  # so many times as long as the last write took
    most: float = 2.0  # seconds

    def after(self, took: float) -> float:
        return min(max(self.least, self.writes * took), self.most)


BETWEEN = Pause(0.05, 1)
GATHERING = Pause(0.2, 10)
"""While more is to come: other volumes are being attached to the node."""

_TRIES = 3

ExpectsMore = Callable[[str], bool]
"""Whether there will soon be more to say about a node."""

Waiter = asyncio.Future[Node | None]


class _LastWrite(msgspec.Struct, frozen=True):
    ended: float  # monotonic
    took: float  # seconds
    is_done: bool  # else it was refused, or its answer lost


class NodeReports:
    def __init__(
        self, client: Client, clock: Clock, nodes: Informer[Node], expects_more: ExpectsMore
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._client = client
        self._clock = clock
        self._nodes = nodes
        self._expects_more = expects_more
        self._served: set[str] = set()
        self._lists: dict[str, dict[str, str]] = {}  # by node: device paths by volume
        self._written: dict[str, _LastWrite] = {}  # by node
        self._waiting: dict[str, list[Waiter]] = {}

    def take_over(self, node: Node) -> Collection[str]:
        """What others have put on the node's list is kept until it is known to be wrong: these."""
        if not node.leaves_attaching_to_controller:
            return ()
        self._served.add(node.name)
        if not node.status.volumes_attached:
            return ()
        listed = _listed(node)
        self._lists[node.name] = listed | self._lists.get(node.name, {})
        return listed

    def serves(self, node: str) -> bool:
        """Whether the node leaves attaching to the controller. Once it has, that stays until the
        Node is gone: its pods depend on it, and nothing else would detach the volumes."""
        return node in self._served

    def has(self, where: VolumeOnNode) -> bool:
        return where.volume in self._lists.get(where.node, ())

    def add(self, where: VolumeOnNode, device: str = "") -> None:
        if not self.has(where):
            self._lists.setdefault(where.node, {})[where.volume] = device
            self._stir(where.node)

    def discard(self, where: VolumeOnNode) -> None:
        if self.has(where):
            there = self._lists[where.node]
            del there[where.volume]
            if not there:
                del self._lists[where.node]
            self._stir(where.node)

    async def withdraw(self, where: VolumeOnNode) -> Node | None:
        """Take the volume off the node's list.

        After: the node, as it was when the API no longer listed the volume; None when there is no
        such node. Raises: ApiError, ConnectionLost: the volume is listed as it was before.
        """
        was_listed, device = self.has(where), self._lists.get(where.node, {}).get(where.volume, "")
        self.discard(where)
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(where.node, []).append(waiter)
        self._stir(where.node)
        try:
            return await waiter
        except (ApiError, ConnectionLost):
            if was_listed:
                self.add(where, device)
            raise

    def check(self, node: Node) -> None:
        """The node has changed: does it still show our list?"""
        if self._differs(node):
            self._stir(node.name)

    def gone(self, node: str) -> None:
        self._written.pop(node, None)
        self._served.discard(node)

    async def reconcile(self, key: Key) -> Verdict:
        last = self._written.get(key.name)
        is_retry = last is not None and not last.is_done  # the queue has made the pause
        if not is_retry and (wait := self._pause(key.name)) > 0:
            return Again(wait)
        waiters = self._waiting.pop(key.name, [])
        try:
            node = await self._write(key, must_read=bool(waiters))
        except (ApiError, ConnectionLost) as error:
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_exception(error)
            if not waiters:
                raise
            self._stir(key.name)  # for what others had to say
            return Settled()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(node)
        return Settled()

    async def _write(self, key: Key, *, must_read: bool) -> Node | None:
        """Bring the API's list to ours; returns the node as it was then, or later."""
        node, is_fresh = self._nodes.get(key), False
        if node is None and not must_read:
            return None
        for _ in range(_TRIES):
            if node is not None and self._differs(node):
                try:
                    return await self._patch(node)
                except Conflict:
                    node = None
                except NotFound:
                    return None
            elif is_fresh or not must_read:
                return node
            try:
                node, is_fresh = await self._client.get(Node, key), True
            except NotFound:
                return None
        raise Conflict(f'the status of node "{key.name}" changes too often')

    async def _patch(self, node: Node) -> Node:
        wanted = self._lists.get(node.name, {})
        shown: list[Doc] = [
            {"name": name, "devicePath": device} for name, device in sorted(wanted.items())
        ]
        change = {"status": {"volumesAttached": shown or None}}
        began, is_done = self._clock.monotonic(), False
        try:
            written = await self._client.patch(node, change, Part.STATUS)
            is_done = True
        finally:
            ended = self._clock.monotonic()
            self._written[node.name] = _LastWrite(ended, ended - began, is_done)
        self._nodes.fold(written)
        return written

    def _differs(self, node: Node) -> bool:
        if not self.serves(node.name):
            return False  # it attaches for itself, and keeps its own list
        return _listed(node) != self._lists.get(node.name, {})

    def _stir(self, node: str) -> None:
        key, wait = Key("", node), self._pause(node)
        if wait > 0:
            self.queue.add_after(key, wait)
        else:
            self.queue.add(key)

    def _pause(self, node: str) -> float:
        """Seconds for which the next write about the node gathers what is to be said."""
        last = self._written.get(node)
        if last is None:
            return 0.0
        pause = GATHERING if self._expects_more(node) else BETWEEN
        return last.ended + pause.after(last.took) - self._clock.monotonic()


def _listed(node: Node) -> dict[str, str]:
    return {one.name: one.device_path for one in node.status.volumes_attached}
