"""The attacks of `tests/api/test_budgets.py`, ten times as much of each."""

import pytest

from tests.fakes.attacks import ATTACKS, Attack, hold
from tests.fakes.real_server import RealServer, own_api_server  # noqa: F401  a fixture

pytestmark = pytest.mark.conformance

TIMES = 10


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_ten_times_the_attack_costs_no_more(
    own_api_server: RealServer,  # noqa: F811  the fixture
    attack: Attack,
) -> None:
    await hold(own_api_server, attack, TIMES)
