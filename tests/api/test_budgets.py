"""What a client may cost: memory and other people's time, under one attack after the other."""

import pytest

from tests.fakes.attacks import ATTACKS, Attack, hold
from tests.fakes.real_server import RealServer


@pytest.mark.timeout(180)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_an_attack_costs_little_memory_and_nobody_else_s_time(
    own_api_server: RealServer, attack: Attack
) -> None:
    await hold(own_api_server, attack)
