"""A write under way: on which version it was decided, and what is known of its outcome."""

import msgspec

from mooring.apiserver.store.contract import Entry
from mooring.apiserver.store.etcd.proto.etcd_pb2 import Event as WireEvent
from mooring.apiserver.store.etcd.proto.etcd_pb2 import TxnRequest


class Seen(msgspec.Struct, frozen=True):
    """The newest version that is known of an object, as of `revision`."""

    entry: Entry | None
    revision: int

    @property
    def guard(self) -> int:
        return 0 if self.entry is None else self.entry.revision


class Attempt(msgspec.Struct):
    """A write under way, and what the watch has told of it."""

    request: TxnRequest
    value: bytes | None  # None: it removes the object
    lost: str = ""  # why there was no answer
    revision: int = 0  # at which it happened
    is_unwatched: bool = False  # the watch has missed changes

    def hear(self, told: WireEvent, revision: int) -> None:
        """Of the next change of the object: is it this one? One deletion is as good as another."""
        is_deleted = told.type == WireEvent.DELETE
        if not self.revision and (
            is_deleted if self.value is None else told.kv.value == self.value
        ):
            self.revision = revision
