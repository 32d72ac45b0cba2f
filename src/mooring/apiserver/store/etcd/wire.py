"""The calls of etcd that the engine makes, and the requests it sends: pure."""

from typing import Generic, TypeVar

import msgspec
from google.protobuf.message import Message

from mooring.apiserver.store.etcd.layout import prefix_end
from mooring.apiserver.store.etcd.proto.etcd_pb2 import (
    CompactionRequest,
    CompactionResponse,
    Compare,
    DeleteRangeRequest,
    KeyValue,
    LeaseGrantRequest,
    LeaseGrantResponse,
    PutRequest,
    RangeRequest,
    RangeResponse,
    RequestOp,
    TxnRequest,
    TxnResponse,
    WatchCreateRequest,
    WatchProgressRequest,
    WatchRequest,
)

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)


class Method(msgspec.Struct, Generic[Q, R], frozen=True):
    path: str
    request: type[Q]
    reply: type[R]


RANGE = Method("/etcdserverpb.KV/Range", RangeRequest, RangeResponse)
TXN = Method("/etcdserverpb.KV/Txn", TxnRequest, TxnResponse)
COMPACT = Method("/etcdserverpb.KV/Compact", CompactionRequest, CompactionResponse)
LEASE_GRANT = Method("/etcdserverpb.Lease/LeaseGrant", LeaseGrantRequest, LeaseGrantResponse)
WATCH_PATH = "/etcdserverpb.Watch/Watch"

PROGRESS = WatchRequest(progress_request=WatchProgressRequest())

TOO_LARGE = "etcdserver: request is too large"
COMPACTED = "etcdserver: mvcc: required revision has been compacted"
NO_LEASE = "etcdserver: requested lease not found"


COMPACT_KEY = b"compact_rev_key"
"""What the servers contend for when they compact."""

NEWEST = RangeRequest(key=COMPACT_KEY, limit=1)
"""The newest revision is in the header of the answer."""


def read_key(key: bytes, revision: int = 0) -> RangeRequest:
    """One key, as all members agree on it now, or as it was at `revision`."""
    return RangeRequest(key=key, limit=1, revision=revision)


def read_page(prefix: bytes, after: bytes, limit: int, revision: int) -> RangeRequest:
    """The next keys that begin with `prefix`, as of `revision` (0: now)."""
    start = after + b"\0" if after else prefix
    return RangeRequest(key=start, range_end=prefix_end(prefix), limit=limit, revision=revision)


def put_if_unchanged(key: bytes, guard: int, value: bytes, lease: int = 0) -> TxnRequest:
    """Store `value` if the key was last written at `guard` (0: there is none), else read it.

    One key per transaction, always: a revision belongs to one object.
    """
    put = RequestOp(request_put=PutRequest(key=key, value=value, lease=lease))
    return _guarded(key, guard, put)


def delete_if_unchanged(key: bytes, guard: int) -> TxnRequest:
    return _guarded(key, guard, RequestOp(request_delete_range=DeleteRangeRequest(key=key)))


def put_if_version(key: bytes, version: int, value: bytes) -> TxnRequest:
    """As `put_if_unchanged`, by the count of writes of the key."""
    compare = Compare(target=Compare.VERSION, key=key, version=version)
    put = RequestOp(request_put=PutRequest(key=key, value=value))
    return TxnRequest(compare=[compare], success=[put], failure=[_reading(key)])


def _guarded(key: bytes, guard: int, then: RequestOp) -> TxnRequest:
    compare = Compare(target=Compare.MOD, key=key, mod_revision=guard)
    return TxnRequest(compare=[compare], success=[then], failure=[_reading(key)])


def _reading(key: bytes) -> RequestOp:
    return RequestOp(request_range=read_key(key))


def found_instead(response: TxnResponse) -> KeyValue | None:
    """What a transaction that did not succeed found."""
    kvs = response.responses[0].response_range.kvs
    return kvs[0] if kvs else None


def follow(prefix: bytes, start: int) -> WatchRequest:
    """Every change of keys that begin with `prefix`, from revision `start` on.

    Without `fragment` etcd sends up to 1000 revisions at once: a GiB, if their objects are large.
    """
    return WatchRequest(
        create_request=WatchCreateRequest(
            key=prefix,
            range_end=prefix_end(prefix),
            start_revision=start,
            progress_notify=True,
            fragment=True,
        )
    )


def follow_all(start: int) -> WatchRequest:
    """Every change of any key, as kine takes it; etcd does not."""
    return WatchRequest(create_request=WatchCreateRequest(start_revision=start))
