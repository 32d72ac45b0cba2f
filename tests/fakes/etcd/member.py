"""A member of the fake etcd, which fails on demand; no socket, no wire."""

import asyncio
from typing import TypeVar, cast

import grpc
from google.protobuf.message import Message

from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.member import WatchStream
from mooring.apiserver.store.etcd.proto.etcd_pb2 import (
    CompactionRequest,
    LeaseGrantRequest,
    RangeRequest,
    TxnRequest,
    WatchRequest,
    WatchResponse,
)
from mooring.apiserver.store.etcd.wire import COMPACTED, Method
from tests.fakes.clock import settle
from tests.fakes.etcd.data import Data

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)


class FakeMember:
    def __init__(self, data: Data, name: str = "http://fake:2379") -> None:
        self.data = data
        self.name = name
        self.is_down = False
        self.loses_answers_of: set[type[Message]] = set()  # once: done, but nobody is told
        self.forgets: set[type[Message]] = set()  # once: not done, and nobody is told
        self.holds_watches = False  # new ones say nothing
        self.calls: list[str] = []
        self.watches: list[FakeWatch] = []
        self.on_call: asyncio.Event | None = None  # calls wait for it

    async def is_reachable(self) -> bool:
        return not self.is_down

    async def call(self, method: Method[Q, R], request: Q, within: float) -> R:
        del within
        self.calls.append(method.path.rpartition("/")[2])
        if self.on_call is not None:
            await self.on_call.wait()
        if self.is_down:
            raise unavailable("connection refused")
        if type(request) in self.forgets:
            self.forgets.remove(type(request))
            raise unavailable("etcdserver: request timed out")
        answer = self._answer(request)
        await settle(1)
        if type(request) in self.loses_answers_of:
            self.loses_answers_of.remove(type(request))
            raise unavailable("etcdserver: request timed out")
        return cast("R", answer)

    def _answer(self, request: Message) -> Message:
        match request:
            case RangeRequest():
                return self.data.range(request)
            case TxnRequest():
                return self.data.transact(request)
            case CompactionRequest():
                return self.data.compact(request)
            case LeaseGrantRequest():
                return self.data.grant(request)
            case _:
                raise Failed(grpc.StatusCode.UNIMPLEMENTED, "unknown method")

    def watch(self) -> WatchStream:
        stream = FakeWatch(self)
        self.watches.append(stream)
        return stream

    def go_down(self) -> None:
        self.is_down = True
        self.cut_watches()

    def cut_watches(self) -> None:
        for stream in list(self.watches):
            stream.close()

    async def close(self) -> None:
        self.cut_watches()


class FakeWatch:
    """One stream with at most one watch."""

    def __init__(self, member: FakeMember) -> None:
        self._member = member
        self._data = member.data
        self._sent = 0  # everything of the log up to this revision
        self._answers: list[WatchResponse] = []
        self._ready = asyncio.Event()
        self._ended = False
        self._follows: tuple[bytes, bytes] | None = None
        self._in_fragments = False  # each change in an answer of its own
        self.most_at_once = 0  # changes in one answer
        self.asked = 0  # how often for progress
        self._data.on_change.append(self._ready.set)
        self.is_held = member.holds_watches  # events wait in etcd

    async def send(self, request: WatchRequest) -> None:
        if self._ended or self._member.is_down:
            raise unavailable("the watch stream has ended")
        if request.HasField("create_request"):
            create = request.create_request
            header = self._data.header()
            if create.start_revision <= self._data.compacted:
                self._answers.append(
                    WatchResponse(
                        header=header,
                        created=True,
                        canceled=True,
                        compact_revision=self._data.compacted,
                        cancel_reason=COMPACTED,
                    )
                )
            else:
                self._answers.append(WatchResponse(header=header, created=True))
                self._follows = create.key, create.range_end
                self._in_fragments = create.fragment
                self._sent = create.start_revision - 1
        elif self._follows:
            self.asked += 1
            self._take_log()
            if not self.is_held:
                self._answers.append(WatchResponse(header=self._data.header(), watch_id=-1))
        self._ready.set()

    async def receive(self) -> WatchResponse:
        while True:
            if self._ended:
                raise unavailable("the watch stream has ended")
            self._take_log()
            if self._answers:
                return self._answers.pop(0)
            self._ready.clear()
            await self._ready.wait()

    def close(self) -> None:
        self._ended = True
        self._ready.set()
        if self in self._member.watches:
            self._member.watches.remove(self)
            self._data.on_change.remove(self._ready.set)

    def tell(self, answer: WatchResponse) -> None:
        self._answers.append(answer)
        self._ready.set()

    def release(self) -> None:
        self.is_held = False
        self._ready.set()

    def _take_log(self) -> None:
        if self._follows is None or self.is_held:
            return
        first, end = self._follows
        news = []
        for changed in reversed(self._data.log):
            if changed.revision <= self._sent:
                break
            if not first or first <= changed.event.kv.key < end:
                news.append(changed.event)
        self._sent = max(self._sent, self._data.revision)
        news.reverse()
        size = 1 if self._in_fragments else len(news) or 1
        pieces = [news[at : at + size] for at in range(0, len(news), size)]
        for number, piece in enumerate(pieces, 1):
            self.most_at_once = max(self.most_at_once, len(piece))
            more = number < len(pieces)
            header = self._data.header()
            self._answers.append(WatchResponse(header=header, events=piece, fragment=more))


def unavailable(text: str) -> Failed:
    return Failed(grpc.StatusCode.UNAVAILABLE, text)
