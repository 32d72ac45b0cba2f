"""Everything under the prefix, read page by page as of one revision."""

import msgspec

from mooring.apiserver.store.contract import Entry
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.kine import is_kine
from mooring.apiserver.store.etcd.layout import Layout
from mooring.apiserver.store.etcd.newest_revision import read_newest
from mooring.apiserver.store.etcd.proto.etcd_pb2 import KeyValue, RangeResponse, ResponseHeader
from mooring.apiserver.store.etcd.wire import COMPACTED, RANGE, read_page
from mooring.errors import EtcdError

FIRST_PAGE, LARGEST_PAGE = 50, 1000  # keys
PAGE_BYTES = 4 << 20  # about: what is read at once stops everybody else while it is taken in
SETTLED = 500  # revisions: before those, no commit is still under way in kine's database
_ATTEMPTS = 8


class Loaded(msgspec.Struct):
    tables: dict[str, dict[str, Entry]]
    revision: int  # that they are the state of
    header: ResponseHeader  # of etcd as it was then: its revision is the newest
    newest: KeyValue | None = None  # of what was loaded


async def load(
    cluster: Cluster, layout: Layout, back: int = 0, *, is_followed: bool = False
) -> Loaded:
    """The newest state; or, where etcd still knows it, that of up to `back` revisions earlier, so
    that the changes since can be followed. What is followed is complete in kine, too.

    Raises: EtcdError, UnreadableValue.
    """
    least = SETTLED if is_followed else 0
    for _ in range(_ATTEMPTS):
        try:
            newest = await read_newest(cluster)
            if is_kine(newest):
                back = max(back, least)
            return await _load(cluster, layout, newest, back)
        except Failed as failed:
            if failed.text != COMPACTED:
                raise failed.as_error() from None
            least //= 4  # what kine has compacted was settled: not much before that is, too
            back = 0
    raise EtcdError("etcd is compacted faster than it can be read: see its --auto-compaction flags")


async def _load(cluster: Cluster, layout: Layout, newest: ResponseHeader, back: int) -> Loaded:
    loaded = Loaded({}, max(newest.revision - back, 1), newest)
    after, more, limit = b"", True, FIRST_PAGE
    while more:
        page = await cluster.read(RANGE, read_page(layout.prefix, after, limit, loaded.revision))
        _take(page, layout, loaded)
        more = page.more
        after = page.kvs[-1].key if page.kvs else after
        limit = next_limit(limit, page.ByteSize())
    return loaded


def next_limit(limit: int, size: int) -> int:
    """How many keys to ask for after `limit` of them came to `size` bytes."""
    fitting = limit * PAGE_BYTES // max(size, 1)
    return max(1, min(fitting, 4 * limit, LARGEST_PAGE))


def _take(page: RangeResponse, layout: Layout, loaded: Loaded) -> None:
    for kv in page.kvs:
        if place := layout.find_place(kv.key):
            table, name = place
            entry = layout.entry(table, name, kv.value, kv.mod_revision)
            loaded.tables.setdefault(table, {})[name] = entry
            if loaded.newest is None or kv.mod_revision > loaded.newest.mod_revision:
                loaded.newest = kv
