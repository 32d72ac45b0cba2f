"""Stories drawn from numbers: Mooring ends them as Kubernetes does, event by event.

MOORING_STORIES says how many (`200`) or which (`1000-1300`).
"""

import os
from collections.abc import Mapping

import pytest

from tests.conformance.controllers.clusters import OURS, OURS_ON_THEIRS
from tests.conformance.controllers.conftest import Judge, chosen
from tests.conformance.controllers.draw import draw
from tests.conformance.controllers.judge import Verdict

pytestmark = pytest.mark.timeout(3600)  # the first test waits for all stories

USUALLY = "1-90"
REPLAY = (
    "MOORING_CONFORMANCE=1 MOORING_STORIES={0}-{0} .venv/bin/python -m pytest -n 0 "
    "tests/conformance/controllers/test_drawn.py"
)


def _seeds(text: str) -> range:
    first, _, last = text.rpartition("-")
    return range(int(first or 1), int(last) + 1)


SEEDS = {f"story {seed}": seed for seed in _seeds(os.environ.get("MOORING_STORIES") or USUALLY)}


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest, play: Judge) -> Mapping[str, Verdict]:
    return play(chosen(request, {name: draw(seed) for name, seed in SEEDS.items()}))


@pytest.mark.parametrize("cluster", [OURS, OURS_ON_THEIRS])
@pytest.mark.parametrize("name", SEEDS)
def test_a_drawn_story(name: str, cluster: str, verdicts: Mapping[str, Verdict]) -> None:
    wrong = verdicts[name].wrong[cluster]
    seed = SEEDS[name]
    assert not wrong, f"\n{draw(seed)}\n{wrong}\nagain: {REPLAY.format(seed)}"


def test_the_same_number_draws_the_same_story() -> None:
    assert draw(77) == draw(77) != draw(78)
