"""kine, which answers in etcd's place from a database, and what of its answers is not believed.

etcd tells the truth about how far a watch has come. kine counts that apart from the changes: its
count may stay behind the newest revision until the next write, and may run ahead of changes that
are still on their way. So nothing counts but what the watch shows, in order; and it shows all that
the database holds, not one prefix, so that each revision comes by.

What was written before the watch began is read from the database at once, and a change that was
just being committed is left out of that: a hole, behind which nothing is taken until it has stayed
for as long as a commit may take. For the same reason what is followed then is listed as of an
older revision than the newest.

A write that kine refuses may have happened, where its connection to the database broke.
"""

from collections.abc import Sequence

from mooring.apiserver.store.etcd.proto.etcd_pb2 import Event as WireEvent
from mooring.apiserver.store.etcd.proto.etcd_pb2 import ResponseHeader
from mooring.clock import Clock

HOLE_SECONDS = 2.0  # kine itself fills one within moments
REFUSED = "kine has refused the write"


def is_kine(header: ResponseHeader) -> bool:
    """A cluster of etcd has a number; kine has none."""
    return not header.cluster_id


class Holes:
    """Revisions that were missing where a watch began."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._first = 0  # revision of the hole that was met last
        self._met = 0.0

    def before(self, events: Sequence[WireEvent], start: int) -> Sequence[WireEvent]:
        """Of the first changes of a watch from `start` on, those that nothing is missing before."""
        following = start
        for count, event in enumerate(events):
            if event.kv.mod_revision > following and not self._has_stayed(following):
                return events[:count]
            following = event.kv.mod_revision + 1
        return events

    def _has_stayed(self, revision: int) -> bool:
        now = self._clock.monotonic()
        if revision != self._first:
            self._first, self._met = revision, now
        return now - self._met >= HOLE_SECONDS
