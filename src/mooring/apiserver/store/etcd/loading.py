"""Everything under the prefix, read page by page as of one revision."""

import msgspec

from mooring.apiserver.store.contract import Entry
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.layout import Layout
from mooring.apiserver.store.etcd.proto.etcd_pb2 import RangeResponse, ResponseHeader
from mooring.apiserver.store.etcd.wire import COMPACTED, RANGE, read_page
from mooring.errors import EtcdError

PAGE = 1000  # keys
_ATTEMPTS = 5


class Loaded(msgspec.Struct):
    tables: dict[str, dict[str, Entry]]
    header: ResponseHeader  # of the first page: its revision is that of all


async def load(cluster: Cluster, layout: Layout) -> Loaded:
    """Raises: EtcdError, UnreadableValue."""
    for _ in range(_ATTEMPTS):
        try:
            return await _load(cluster, layout)
        except Failed as failed:
            if failed.text != COMPACTED:  # while the pages were read: begin anew
                raise failed.as_error() from None
    raise EtcdError("etcd is compacted faster than it can be read: see its --auto-compaction flags")


async def _load(cluster: Cluster, layout: Layout) -> Loaded:
    page = await cluster.read(RANGE, read_page(layout.prefix, b"", PAGE, 0))
    loaded = Loaded({}, page.header)
    _take(page, layout, loaded.tables)
    while page.more:
        after = page.kvs[-1].key
        request = read_page(layout.prefix, after, PAGE, loaded.header.revision)
        page = await cluster.read(RANGE, request)
        _take(page, layout, loaded.tables)
    return loaded


def _take(page: RangeResponse, layout: Layout, tables: dict[str, dict[str, Entry]]) -> None:
    for kv in page.kvs:
        if place := layout.find_place(kv.key):
            table, name = place
            entry = layout.entry(table, name, kv.value, kv.mod_revision)
            tables.setdefault(table, {})[name] = entry
