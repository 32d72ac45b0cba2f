"""What is remembered of etcd over a restart, and when it is written down."""

import asyncio
from pathlib import Path

from mooring.apiserver.store.etcd.proto.etcd_pb2 import ResponseHeader
from mooring.apiserver.store.etcd.restored import Witness
from mooring.apiserver.store.revision_mark import RevisionMark, find_mark


def header(revision: int) -> ResponseHeader:
    return ResponseHeader(cluster_id=1, revision=revision)


async def test_a_revision_is_written_down_when_the_witness_is_closed(tmp_path: Path) -> None:
    witness = Witness.open(tmp_path / "mark", header(7))
    witness.note(9)
    await witness.close()
    assert find_mark(tmp_path / "mark") == 9


async def test_what_comes_while_the_disk_is_slow_is_written_in_the_end(tmp_path: Path) -> None:
    written: list[int] = []
    is_written = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Slow(RevisionMark):
        def note(self, revision: int) -> None:
            """In a thread: meanwhile, the event loop goes on."""
            asyncio.run_coroutine_threadsafe(come_further(revision), loop).result(10)

    async def come_further(revision: int) -> None:
        written.append(revision)
        if revision < 10:
            witness.note(revision + 1)
        else:
            is_written.set()

    witness = Witness(Slow.open(tmp_path / "mark"), header(7))
    keeping = asyncio.create_task(witness.keep())
    await asyncio.wait_for(is_written.wait(), 30)
    assert written == [7, 8, 9, 10]
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
