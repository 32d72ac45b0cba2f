"""What has become true is written although others write."""

from typing import Any

from mooring.client.contract import Doc
from mooring.errors import Conflict, NotFound
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.writing import OUTRUN_SECONDS, patch_newest, unless_outrun

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


async def test_who_is_outrun_looks_again_soon() -> None:
    async def fails() -> Verdict:
        raise Conflict("somebody wrote")

    async def works() -> Verdict:
        return Settled()

    assert await unless_outrun(fails()) == Again(OUTRUN_SECONDS)
    assert await unless_outrun(works()) == Settled()
