"""Stories that say how they end: so they end on Kubernetes, on Mooring, and on both together."""

from collections.abc import Mapping

import pytest

from tests.conformance.controllers.clusters import OURS, OURS_ON_THEIRS, THEIRS
from tests.conformance.controllers.conftest import Judge, chosen
from tests.conformance.controllers.differences import EXPLANATIONS, OURS_ALONE, SCRUBS, Kept
from tests.conformance.controllers.judge import Verdict
from tests.conformance.controllers.table import ALL

pytestmark = pytest.mark.timeout(3600)  # the first test waits for all stories


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest, play: Judge) -> Mapping[str, Verdict]:
    return play(chosen(request, ALL))


@pytest.mark.parametrize("cluster", [THEIRS, OURS, OURS_ON_THEIRS])
@pytest.mark.parametrize("name", ALL)
def test_a_story_of_the_table(name: str, cluster: str, verdicts: Mapping[str, Verdict]) -> None:
    wrong = verdicts[name].wrong[cluster]
    assert not wrong, f"\n{ALL[name]}\n{wrong}"


def test_every_difference_that_is_kept_is_shown_by_a_story() -> None:
    shown = {story.kept for story in ALL.values() if story.kept}
    alone = {*OURS_ALONE.values(), *SCRUBS.values(), *EXPLANATIONS.values()}
    assert shown | alone == set(Kept)
