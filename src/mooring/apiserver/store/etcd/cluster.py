"""All members of one etcd: the one that answers is used until it does not.

Reads are repeated on the next member. A write is sent once, to a member that is connected: whether
one without an answer has happened, only the engine can find out.
"""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from mooring import log as logs
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.member import Member, WatchStream
from mooring.apiserver.store.etcd.proto.etcd_pb2 import TxnRequest, TxnResponse
from mooring.apiserver.store.etcd.wire import TXN, Method
from mooring.clock import Clock
from mooring.errors import EtcdError

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)

_log = logs.get("mooring.etcd")

READ_SECONDS = 2.5  # for one member
READ_SECONDS_IN_ALL = 7.0
WRITE_SECONDS = 8.0  # etcd itself gives up after 7
_PAUSE = 0.1  # seconds after a round without an answer


class Cluster:
    def __init__(self, members: Sequence[Member], clock: Clock) -> None:
        self._members = tuple(members)
        self._clock = clock
        self._at = 0

    async def read(self, method: Method[Q, R], request: Q) -> R:
        """The answer of whichever member gives one; also for calls that may be made twice.

        Raises: Failed for a refusal; EtcdError when none answers in time.
        """
        last = "no member answers"
        try:
            async with asyncio.timeout(READ_SECONDS_IN_ALL):
                for attempt in range(4 * len(self._members)):
                    member = self._members[self._at]
                    try:
                        return await member.call(method, request, READ_SECONDS)
                    except Failed as failed:
                        if not failed.is_passing:
                            raise
                        last = failed.text
                        self._leave(member, last)
                    if (attempt + 1) % len(self._members) == 0:
                        await self._clock.sleep(_PAUSE)
        except TimeoutError:
            pass
        raise EtcdError(f"etcd does not answer: {last}")

    async def transact(self, request: TxnRequest) -> TxnResponse:
        """Raises: Failed, which says whether something may have happened."""
        for _ in self._members:
            member = self._members[self._at]
            if not await member.is_reachable():
                self._leave(member, "it cannot be reached")
                continue
            try:
                return await member.call(TXN, request, WRITE_SECONDS)
            except Failed as failed:
                if failed.is_passing:
                    self._leave(member, failed.text)
                raise
        names = ", ".join(member.name for member in self._members)
        told = f"etcd cannot be reached: none of {names} takes a connection"
        raise Failed(grpc.StatusCode.UNAVAILABLE, told, was_sent=False)

    def watch(self) -> WatchStream:
        """On the member that is used now."""
        return self._members[self._at].watch()

    def leave(self, because: str) -> None:
        """Use the next member."""
        self._leave(self._members[self._at], because)

    async def close(self) -> None:
        for member in self._members:
            await member.close()

    def _leave(self, member: Member, because: str) -> None:
        if member is not self._members[self._at]:
            return  # somebody else has left it
        self._at = (self._at + 1) % len(self._members)
        if len(self._members) > 1:
            following = self._members[self._at].name
            _log.info("uses another member", instead_of=member.name, uses=following, why=because)
