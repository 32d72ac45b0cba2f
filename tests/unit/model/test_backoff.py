import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.backoff import Backoff

DELAYS = {
    "the first failure waits the first time": (Backoff(0.005, 1000), 1, 0.0, 0.005),
    "each further one doubles it": (Backoff(0.005, 1000), 4, 0.0, 0.04),
    "the cap holds": (Backoff(0.005, 1000), 19, 0.0, 1000),
    "and holds for ever": (Backoff(0.005, 1000), 10**9, 0.0, 1000),
    "another factor": (Backoff(1, 1000, factor=10), 3, 0.0, 100),
    "without jitter luck means nothing": (Backoff(1, 10), 1, 0.9, 1),
    "jitter adds a share of the wait": (Backoff(1, 10, jitter=0.5), 2, 0.5, 2.5),
    "jitter adds to the cap too": (Backoff(1, 10, jitter=1.0), 9, 0.5, 15),
}


@pytest.mark.parametrize(("backoff", "failures", "luck", "seconds"), DELAYS.values(), ids=DELAYS)
def test_delay(backoff: Backoff, failures: int, luck: float, seconds: float) -> None:
    assert backoff.delay(failures, luck) == pytest.approx(seconds)


@given(failures=st.integers(1, 2000), luck=st.floats(0, 1, exclude_max=True))
def test_a_wait_never_shrinks_and_stays_in_bounds(failures: int, luck: float) -> None:
    backoff = Backoff(0.2, 10, jitter=0.5)
    assert 0.2 <= backoff.delay(failures, luck) <= backoff.delay(failures + 1, luck) <= 15
