"""Whatever a schema allows, no loop dies of it and nothing is set aside.

A bounded form; the long one is `tests/conformance/test_hostile.py`.
"""

from pathlib import Path

import pytest

from mooring.reconcile.poison import POISONED
from tests.fakes.api import ApiUnderTest
from tests.fakes.inline_threads import install_inline_threads
from tests.scenarios.hostile.world import hostile_world, seed_of, stored_kinds

ROUNDS = 12


def test_every_stored_kind_has_a_document_to_begin_with(api: ApiUnderTest) -> None:
    assert [kind.plural for kind in stored_kinds(api) if seed_of(kind) is None] == []


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_dies_of_what_a_schema_allows(
    api: ApiUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    install_inline_threads()
    before = POISONED.total()
    async with hostile_world(api, tmp_path) as world:
        await world.storm(seed, ROUNDS)
        await world.check(before)
        await world.end(seed)
        await world.check(before)
        assert world.accepted > ROUNDS
