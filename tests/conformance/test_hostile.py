"""The long form of `tests/scenarios/hostile`: many more seeds, and longer storms."""

from pathlib import Path

import pytest

from mooring.reconcile.poison import POISONED
from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.fakes.inline_threads import install_inline_threads
from tests.scenarios.hostile.world import hostile_world

ROUNDS = 40


@pytest.mark.parametrize("seed", range(1000, 1200))
async def test_nothing_dies_of_what_a_schema_allows(
    api: ApiUnderTest,  # noqa: F811  the fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    install_inline_threads()
    before = POISONED.total()
    async with hostile_world(api, tmp_path) as world:
        await world.storm(seed, ROUNDS)
        await world.check(before)
        await world.end(seed)
        await world.check(before)
