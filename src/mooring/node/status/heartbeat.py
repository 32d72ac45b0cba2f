"""The sign of life of a node: a Lease that it renews every ten seconds.

The Lease also says which process is the node. One that finds another machine there ends, before the
two fight over pods and volumes; that of `mooring up` insists, as it ends with the API server only.
"""

from contextlib import suppress
from random import Random

import msgspec

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    ConnectionLost,
    NotFound,
    UsageError,
)
from mooring.model.backoff import Backoff
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.timestamp import to_micros
from mooring.node.instance import ANNOTATION, host_of, is_same
from mooring.node.own_node import WatchedNode
from mooring.reconcile.deadline import within

NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
AGAIN = Backoff(first=0.2, cap=7.0, jitter=0.5)

_log = log.get("mooring.node.status")


class Holding(msgspec.Struct, frozen=True):
    """Who renews the lease."""

    instance: str = ""  # empty: not told
    insists: bool = False  # takes the lease back from another machine, instead of ending


UNTOLD = Holding()


def rival_text(name: str, rival: str) -> str:
    return (
        f"another machine ({host_of(rival)}) is the node {name} already: stop that one, or give "
        "this one a name of its own with `mooring token create --node NAME`"
    )


class Heartbeat:
    """`run` renews the lease until cancelled; it is the only writer, so it rarely reads it.

    `run` raises: UsageError when another machine has become the node.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        own_node: WatchedNode,
        holding: Holding = UNTOLD,
    ) -> None:
        self._holding = holding
        self._client = client
        self._clock = clock
        self._rng = rng
        self._own_node = own_node
        self._key = Key(NAMESPACE, own_node.name)
        self._seen: Lease | None = None

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                async with within(self._clock, RENEW_SECONDS):
                    await self._renew()
            except (ApiError, ConnectionLost, TimeoutError) as error:
                failures += 1
                level = _log.debug if failures == 1 else _log.warning
                level("the node's lease was not renewed", node=self._key.name, because=error)
                await self._clock.sleep(AGAIN.delay(failures, self._rng.random()))
            else:
                failures = 0
                await self._clock.sleep(RENEW_SECONDS)

    async def _renew(self) -> None:
        seen, self._seen = self._seen, None  # whatever goes wrong, read it next time
        if seen is None:
            try:
                seen = await self._client.get(Lease, self._key)
            except NotFound:
                await self._create()
                return
            self._check(seen)
        try:
            self._seen = await self._client.patch(seen, self._change(seen))
        except Conflict:
            newest = await self._client.get(Lease, self._key)
            self._check(newest)
            self._seen = await self._client.patch(newest, self._change(newest))
        except NotFound:
            await self._create()

    async def _create(self) -> None:
        metadata: Doc = {"name": self._key.name, "namespace": self._key.namespace}
        if owner := self._owner():
            metadata["ownerReferences"] = [owner]
        metadata |= self._mark()
        doc = {"metadata": metadata, "spec": self._spec()}
        with suppress(AlreadyExists):  # an earlier answer was lost; the next renewal reads it
            self._seen = await self._client.create(Lease, doc)

    def _check(self, seen: Lease) -> None:
        """Raises: UsageError when another machine has the lease, and this one gives way."""
        held_by, own = seen.metadata.annotations.get(ANNOTATION, ""), self._holding
        if own.instance and held_by and not own.insists and not is_same(held_by, own.instance):
            raise UsageError(rival_text(self._key.name, held_by))

    def _change(self, seen: Lease) -> Doc:
        owner = self._owner()
        owners = seen.metadata.owner_references
        metadata: Doc = {}
        if owner is not None and all(one.uid != owner["uid"] for one in owners):
            metadata["ownerReferences"] = [owner]
        if self._holding.instance != seen.metadata.annotations.get(ANNOTATION, ""):
            metadata |= self._mark()
        spec = {"spec": self._spec()}
        return {"metadata": metadata} | spec if metadata else spec

    def _mark(self) -> Doc:
        instance = self._holding.instance
        return {"annotations": {ANNOTATION: instance}} if instance else {}

    def _spec(self) -> Doc:
        return {
            "holderIdentity": self._own_node.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": to_micros(self._clock.now()),
        }

    def _owner(self) -> Doc | None:
        """With its Node, the lease goes too."""
        node = self._own_node.known
        if node is None:
            return None
        return {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
