"""Compaction: of several API servers one, each interval, has etcd forget what is older.

The servers contend for the key `compact_rev_key`, whose version counts the rounds: whoever writes
it first has this round, and compacts to the revision that it saw a round earlier. So between one
and two intervals of history stay, whichever server dies. kube-apiserver does the same with it.
"""

from mooring import log as logs
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.proto.etcd_pb2 import CompactionRequest
from mooring.apiserver.store.etcd.wire import (
    COMPACT,
    COMPACT_KEY,
    COMPACTED,
    found_instead,
    put_if_version,
)
from mooring.clock import Clock
from mooring.errors import EtcdError

_log = logs.get("mooring.etcd")

INTERVAL = 300.0  # seconds


class Compaction:
    def __init__(self, cluster: Cluster, clock: Clock, interval: float = INTERVAL) -> None:
        self._cluster = cluster
        self._clock = clock
        self._interval = interval
        self._round = 0  # the version of the key
        self._seen = 0  # the newest revision a round ago

    async def run(self) -> None:
        """Take part until cancelled."""
        while True:
            await self._clock.sleep(self._interval)
            try:
                await self.take_part()
            except (Failed, EtcdError) as error:
                _log.warning("compaction put off", because=error)

    async def take_part(self) -> int:
        """One round. Returns the revision that was compacted to; 0: none, or another has it.

        Raises: Failed, EtcdError.
        """
        request = put_if_version(COMPACT_KEY, self._round, b"%d" % self._seen)
        response = await self._cluster.transact(request)
        before, self._seen = self._seen, response.header.revision
        if not response.succeeded:
            found = found_instead(response)
            self._round = 0 if found is None else found.version
            return 0
        self._round += 1
        if before:
            await compact(self._cluster, before)
        return before


async def compact(cluster: Cluster, revision: int) -> None:
    """Raises: Failed, EtcdError."""
    try:
        await cluster.read(COMPACT, CompactionRequest(revision=revision))
    except Failed as failed:
        if failed.text != COMPACTED:  # another was faster, or this one before it lost its answer
            raise
