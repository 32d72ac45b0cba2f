"""Whether a history of leaders' writes is that of one leader at a time.

Each version of a lease has a revision and names its holder, and each write has a revision: so for
every write it is known who led when it happened.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import msgspec


class Acted(msgspec.Struct, frozen=True):
    """A write of a candidate that was acknowledged; `holder`: whom it made leader, if it is one of
    a lease."""

    began: float
    ended: float
    method: str
    path: str
    revision: int
    holder: str = ""


class Held(msgspec.Struct, frozen=True, order=True):
    """A version of the lease; nobody holds it when `holder` is empty."""

    revision: int
    holder: str


class Called(msgspec.Struct, frozen=True):
    """A call of a driver by a candidate, as the driver received it."""

    candidate: str
    at: float
    rpc: str
    volume: str


def identities(acted: Iterable[Acted]) -> set[str]:
    """What a candidate called itself, in all its lives."""
    return {write.holder for write in acted if write.holder}


def of_two_leaders(
    held: Sequence[Held], acted: Mapping[str, Sequence[Acted]], lease_path: str
) -> list[str]:
    """Writes that happened while somebody else held the lease; empty: there are none.

    `held` are the versions of the lease that a watch has seen, `acted` the writes of each.
    """
    leased = (
        Held(write.revision, write.holder)
        for writes in acted.values()
        for write in writes
        if write.path == lease_path and write.holder
    )
    versions = sorted({*held, *leased})
    revisions = [version.revision for version in versions]
    known = _Known(write for writes in acted.values() for write in writes)
    flaws = []
    for candidate, writes in acted.items():
        mine = identities(writes)
        for write in writes:
            if write.path == lease_path or write.revision <= known.before(write.began):
                continue
            at = bisect_right(revisions, write.revision) - 1
            holder = versions[at].holder if at >= 0 else ""
            if holder not in mine:
                flaws.append(f"{candidate} wrote while {holder or 'nobody'} led: {write}")
    return flaws


def called_beside_a_leader(
    called: Iterable[Called], acted: Mapping[str, Sequence[Acted]]
) -> list[str]:
    """Calls by who did not lead; empty: there are none. All times are by one clock.

    Calls have no revision, so only what is certain counts: another had the lease before the call
    came, and the caller had not asked for it again.
    """
    owners = {name: candidate for candidate, writes in acted.items() for name in identities(writes)}
    taken = sorted(
        (write for writes in acted.values() for write in writes if write.holder),
        key=lambda write: write.revision,
    )
    flaws = []
    for call in called:
        known = [write for write in taken if write.ended < call.at]
        newest = known[-1] if known else None
        mine = [w for w in taken if owners[w.holder] == call.candidate and w.began < call.at]
        if not mine or (newest is not None and newest.revision > mine[-1].revision):
            flaws.append(f"{call} came while {newest.holder if newest else 'nobody'} led")
    return flaws


class _Known:
    """How far the history had come when something began: a write that is answered with an older
    revision has changed nothing."""

    def __init__(self, acted: Iterable[Acted]) -> None:
        ended = sorted((write.ended, write.revision) for write in acted)
        self._moments = [moment for moment, _ in ended]
        self._newest = list(accumulate((revision for _, revision in ended), max))

    def before(self, moment: float) -> int:
        at = bisect_left(self._moments, moment)
        return self._newest[at - 1] if at else 0
