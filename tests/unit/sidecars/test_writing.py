"""What has become true is written although others write."""

from typing import Any

from mooring.errors import Conflict, NotFound
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.writing import OUTRUN, ConflictBackoff, patch_newest

SEEN = Claim(metadata=ObjectMeta(name="data", namespace="default", uid="u1", resource_version="1"))


class Outrun:
    """A server on which somebody else has written."""

    def __init__(self, newest: Claim | None) -> None:
        self.newest = newest
        self.written: list[Doc] = []

    async def patch(self, seen: Claim, change: Doc, _part: Any) -> Claim:
        if self.newest is None:
            raise NotFound("gone")
        if seen.metadata.resource_version != self.newest.metadata.resource_version:
            raise Conflict("somebody wrote")
        self.written.append(change)
        return self.newest

    async def get(self, _kind: type, _key: Key) -> Claim:
        if self.newest is None:
            raise NotFound("gone")
        return self.newest


def newest(uid: str) -> Claim:
    meta = ObjectMeta(name="data", namespace="default", uid=uid, resource_version="2")
    return Claim(metadata=meta)


async def patched(server: Outrun) -> Claim | None:
    def change(claim: Claim) -> Doc:
        return {"seen": claim.metadata.resource_version}

    return await patch_newest(server, SEEN, change)  # type: ignore[arg-type]  # a part of a client


async def test_it_is_read_again_and_written() -> None:
    server = Outrun(newest("u1"))
    assert await patched(server) == server.newest
    assert server.written == [{"seen": "2"}]


async def test_another_object_of_the_name_is_not_written() -> None:
    server = Outrun(newest("u2"))
    assert await patched(server) is None
    assert not server.written


async def test_an_object_that_is_gone_needs_nothing() -> None:
    assert await patched(Outrun(None)) is None


async def test_who_is_outrun_looks_again_soon_and_later_each_time() -> None:
    async def fails() -> Verdict:
        raise Conflict("somebody wrote")

    async def works() -> Verdict:
        return Settled()

    outruns = ConflictBackoff()
    for pause in (0.05, 0.1, 0.2):
        assert await outruns.look_again("key", fails()) == Again(pause)
    assert await outruns.look_again("another", fails()) == Again(0.05)
    for _ in range(20):
        await outruns.look_again("key", fails())
    assert await outruns.look_again("key", fails()) == Again(OUTRUN.cap)
    assert await outruns.look_again("key", works()) == Settled()
    assert await outruns.look_again("key", fails()) == Again(0.05), "counted anew"
