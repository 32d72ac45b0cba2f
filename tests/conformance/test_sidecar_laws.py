"""The law of `tests/scenarios/sidecars/test_laws.py`, with many more stories."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scenarios.sidecars.test_laws import Planned, Step, check, plans, stories, tells


@pytest.mark.timeout(3600)
@given(story=stories, planned=plans, volumes=st.integers(2, 4))
@settings(max_examples=3000, suppress_health_check=list(HealthCheck))
def test_nothing_that_is_kept_is_destroyed_at_length(
    story: list[list[Step]], planned: list[Planned], volumes: int
) -> None:
    check(tells(story, planned, volumes))
