"""What is decided and not written yet."""

from random import Random

from msgspec.structs import replace

from mooring.client.contract import EVERYTHING, Change, ChangeType, Listing
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.reconcile.reflector import Reflector
from mooring.scheduling.assumed import Assumed
from mooring.scheduling.decide.wanted import meant_for
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer
from tests.unit.scheduling.things import a_claim

DATA = Key("default", "data")
SEEN = a_claim()


def at(claim: Claim, version: int) -> Claim:
    return replace(claim, metadata=replace(claim.metadata, resource_version=str(version)))


def a_world() -> tuple[Reflector[Claim], Assumed[Claim], list[str]]:
    told: list[str] = []
    clock = VirtualClock()
    client, rng = FakeClient(FakeServer(clock), clock), Random(1)  # noqa: S311  no secret
    cache = Reflector(client, Claim, EVERYTHING, clock, rng)
    cache.replace(Listing([SEEN], "1"))
    assumed = Assumed(cache, lambda claim: told.append(claim.selected_node))
    told.clear()
    return cache, assumed, told


def test_an_assumption_is_what_is_seen() -> None:
    _, assumed, told = a_world()
    assumed.assume(meant_for(SEEN, "n1"))
    found = assumed.get(DATA)
    assert found is not None
    assert found.selected_node == "n1"
    assert told == ["n1"]


def test_a_restored_one_is_as_it_was() -> None:
    _, assumed, told = a_world()
    assumed.assume(meant_for(SEEN, "n1"))
    assert assumed.restore(DATA) == SEEN
    assert assumed.get(DATA) == SEEN
    assert told == ["n1", ""]
    assert assumed.restore(DATA) is None


def test_the_write_itself_ends_the_assumption() -> None:
    cache, assumed, told = a_world()
    assumed.assume(meant_for(SEEN, "n1"))
    written = at(meant_for(SEEN, "n1"), 2)
    cache.fold(written)
    assert assumed.get(DATA) == written
    assert assumed.restore(DATA) is None, "it has come true"
    assert told == ["n1", "n1"]


def test_what_somebody_else_wrote_ends_it_too() -> None:
    cache, assumed, _ = a_world()
    assumed.assume(meant_for(SEEN, "n1"))
    other = at(meant_for(SEEN, "n2"), 2)
    cache.absorb(Change(ChangeType.MODIFIED, other))
    assert assumed.get(DATA) == other


def test_one_that_is_gone_is_gone() -> None:
    cache, assumed, _ = a_world()
    assumed.assume(meant_for(SEEN, "n1"))
    cache.absorb(Change(ChangeType.DELETED, at(SEEN, 2)))
    assert assumed.get(DATA) is None
    assert assumed.restore(DATA) is None
