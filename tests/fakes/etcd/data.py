"""What an etcd holds: versions of keys under one revision, transactions, compaction, leases."""

from collections.abc import Callable, Iterator

import grpc
import msgspec

from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.proto.etcd_pb2 import (
    CompactionRequest,
    CompactionResponse,
    Compare,
    Event,
    KeyValue,
    LeaseGrantRequest,
    LeaseGrantResponse,
    PutRequest,
    RangeRequest,
    RangeResponse,
    ResponseHeader,
    ResponseOp,
    TxnRequest,
    TxnResponse,
)
from mooring.apiserver.store.etcd.wire import COMPACTED, NO_LEASE, TOO_LARGE

MOST_BYTES = 3 << 19  # of a request: 1.5 MiB
FUTURE = "etcdserver: mvcc: required revision is a future revision"
NO_SPACE = "etcdserver: mvcc: database space exceeded"


class Changed(msgspec.Struct, frozen=True):
    """One event, and what its key held before."""

    revision: int
    event: Event
    before: KeyValue | None


class Data:
    """Of a whole cluster: its members agree at once. Answers are fresh messages."""

    def __init__(self, cluster_id: int = 7) -> None:
        self.cluster_id = cluster_id
        self.revision = 1
        self.compacted = 0
        self.is_full = False
        self.log: list[Changed] = []
        self.on_change: list[Callable[[], None]] = []
        self.granted: dict[int, int] = {}  # seconds to live, by lease
        self._kvs: dict[bytes, KeyValue] = {}

    def header(self) -> ResponseHeader:
        return ResponseHeader(cluster_id=self.cluster_id, member_id=1, revision=self.revision)

    def range(self, request: RangeRequest) -> RangeResponse:
        if request.revision > self.revision:
            raise Failed(grpc.StatusCode.OUT_OF_RANGE, FUTURE)
        if request.revision and request.revision < self.compacted:
            raise Failed(grpc.StatusCode.OUT_OF_RANGE, COMPACTED)
        held = self._held_at(request.revision or self.revision)
        if request.range_end:
            keys = sorted(key for key in held if request.key <= key < request.range_end)
        else:
            keys = [request.key] if request.key in held else []
        count = min(request.limit, len(keys)) if request.limit else len(keys)
        return RangeResponse(
            header=self.header(),
            kvs=[held[key] for key in keys[:count]],
            more=count < len(keys),
            count=len(keys),
        )

    def transact(self, request: TxnRequest) -> TxnResponse:
        if request.ByteSize() > MOST_BYTES:
            raise Failed(grpc.StatusCode.INVALID_ARGUMENT, TOO_LARGE)
        succeeded = all(map(self._holds, request.compare))
        operations = request.success if succeeded else request.failure
        for operation in operations:
            if operation.HasField("request_put"):
                self._check_put(operation.request_put)
        changed: list[Changed] = []
        responses: list[ResponseOp] = []
        for operation in operations:
            match operation.WhichOneof("request"):
                case "request_range":
                    found = self.range(operation.request_range)
                    responses.append(ResponseOp(response_range=found))
                case "request_put":
                    changed.append(self._put(operation.request_put))
                    responses.append(ResponseOp())
                case _:
                    changed += self._delete(operation.request_delete_range.key)
                    responses.append(ResponseOp())
        self._commit(changed)
        return TxnResponse(header=self.header(), succeeded=succeeded, responses=responses)

    def compact(self, request: CompactionRequest) -> CompactionResponse:
        if request.revision <= self.compacted:
            raise Failed(grpc.StatusCode.OUT_OF_RANGE, COMPACTED)
        if request.revision > self.revision:
            raise Failed(grpc.StatusCode.OUT_OF_RANGE, FUTURE)
        self.compacted = request.revision
        return CompactionResponse(header=self.header())

    def grant(self, request: LeaseGrantRequest) -> LeaseGrantResponse:
        number = len(self.granted) + 1000
        self.granted[number] = request.TTL
        return LeaseGrantResponse(header=self.header(), ID=number, TTL=request.TTL)

    def expire(self, lease: int) -> None:
        """The time of a lease is over: each of its keys goes with a revision of its own."""
        del self.granted[lease]
        for key in [key for key, kv in self._kvs.items() if kv.lease == lease]:
            self._commit(list(self._delete(key)))

    def keys_on(self, lease: int) -> int:
        return sum(kv.lease == lease for kv in self._kvs.values())

    def put(self, key: bytes, value: bytes) -> int:
        """By somebody who is no API server."""
        self._commit([self._put(PutRequest(key=key, value=value))])
        return self.revision

    def _holds(self, compare: Compare) -> bool:
        kv = self._kvs.get(compare.key)
        if compare.target == Compare.VERSION:
            return compare.version == (kv.version if kv else 0)
        return compare.mod_revision == (kv.mod_revision if kv else 0)

    def _check_put(self, put: PutRequest) -> None:
        if self.is_full:
            raise Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, NO_SPACE)
        if put.lease and put.lease not in self.granted:
            raise Failed(grpc.StatusCode.NOT_FOUND, NO_LEASE)

    def _put(self, put: PutRequest) -> Changed:
        revision = self.revision + 1
        before = self._kvs.get(put.key)
        kv = self._kvs[put.key] = KeyValue(
            key=put.key,
            value=put.value,
            create_revision=before.create_revision if before else revision,
            mod_revision=revision,
            version=before.version + 1 if before else 1,
            lease=put.lease,
        )
        return Changed(revision, Event(type=Event.PUT, kv=kv), before)

    def _delete(self, key: bytes) -> Iterator[Changed]:
        before = self._kvs.pop(key, None)
        if before is not None:
            revision = self.revision + 1
            gone = KeyValue(key=key, mod_revision=revision)
            yield Changed(revision, Event(type=Event.DELETE, kv=gone), before)

    def _commit(self, changed: list[Changed]) -> None:
        if not changed:
            return
        self.revision += 1
        self.log += changed
        for notify in list(self.on_change):
            notify()

    def _held_at(self, revision: int) -> dict[bytes, KeyValue]:
        held = dict(self._kvs)
        for changed in reversed(self.log):
            if changed.revision <= revision:
                break
            if changed.before is None:
                del held[changed.event.kv.key]
            else:
                held[changed.event.kv.key] = changed.before
        return held
