"""What kine does otherwise than etcd, and wrongly at times: see mooring's store/etcd/kine.py."""

from mooring.apiserver.store.etcd.proto.etcd_pb2 import (
    RangeRequest,
    RangeResponse,
    ResponseHeader,
    TxnRequest,
    TxnResponse,
    WatchResponse,
)
from mooring.apiserver.store.etcd.wire import COMPACT_KEY
from tests.fakes.etcd.data import Changed, Data
from tests.fakes.etcd.member import FakeMember

_FIRST = (COMPACT_KEY + b"_of_kine", b"/registry/health")


class KineData(Data):
    """Rows of a database, the first two of them kine's own."""

    def __init__(self) -> None:
        super().__init__(cluster_id=0)
        self.revision = 0
        self.count: int | None = None  # of kine itself, where that is another than the newest
        self.refuses_what_it_does = False  # the next write: done, but the answer says it is not
        self._uncommitted: list[tuple[int, Changed]] = []  # and the place in the log
        for key in _FIRST:
            self.put(key, b"")

    def range(self, request: RangeRequest) -> RangeResponse:
        found = super().range(request)
        if not found.kvs:  # no row to read the newest revision beside
            found.header.CopyFrom(self._counted())
        return found

    def transact(self, request: TxnRequest) -> TxnResponse:
        answer = super().transact(request)
        is_creation = bool(request.compare) and not request.compare[0].mod_revision
        if not answer.succeeded and is_creation and self.count is not None:
            # It is looked for as of kine's count, when it was not there yet.
            answer.header.CopyFrom(self._counted())
            answer.responses[0].response_range.ClearField("kvs")
        if answer.succeeded and self.refuses_what_it_does:
            self.refuses_what_it_does = False
            key = request.compare[0].key
            held = super().range(RangeRequest(key=key, limit=1))
            refused = TxnResponse(header=self.header(), succeeded=False)
            refused.responses.add().response_range.CopyFrom(held)
            return refused
        return answer

    def header(self) -> ResponseHeader:
        return ResponseHeader(revision=self.revision)

    def hide(self, revision: int) -> None:
        """It is being committed: others with a later number are there before."""
        place, hidden = next(
            (place, changed)
            for place, changed in enumerate(self.log)
            if changed.revision == revision
        )
        self.log.pop(place)
        self._uncommitted.append((place, hidden))

    def show(self) -> None:
        while self._uncommitted:
            place, changed = self._uncommitted.pop()
            self.log.insert(place, changed)

    def _counted(self) -> ResponseHeader:
        return ResponseHeader(revision=self.revision if self.count is None else self.count)


def tell_progress(member: FakeMember, revision: int) -> None:
    """What the counting of kine says, before the changes come."""
    for watch in member.watches:
        watch.tell(WatchResponse(header=ResponseHeader(revision=revision), watch_id=-1))
