"""Volumes that are offered to a claim; what fits is in test_binding.py."""

from collections.abc import Iterator

from mooring.model.volume import Volume
from mooring.scheduling.decide.matching import Offers, find_candidates
from tests.unit.scheduling.things import Stored, a_claim, a_volume, pointing_at


def test_offers_are_looked_at_once_and_no_further_than_needed() -> None:
    looked_at: list[str] = []

    def volumes() -> Iterator[Volume]:
        for name in ("a", "b", "c"):
            looked_at.append(name)
            yield a_volume(name)

    offers = Offers(volumes())
    first = iter(offers)
    assert next(first).name == "a"
    assert looked_at == ["a"]
    assert [volume.name for volume in offers] == ["a", "b", "c"]
    assert [volume.name for volume in first] == ["b", "c"]
    assert [volume.name for volume in offers] == ["a", "b", "c"]
    assert looked_at == ["a", "b", "c"]


def test_a_claim_with_a_reserved_volume_is_offered_no_other() -> None:
    reserved = a_volume("mine", claimRef=pointing_at("data"))
    found = find_candidates(Stored(reserved, a_volume()), a_claim(storage_class="local"))
    assert (found.reserved, found.free) == (reserved, None)
