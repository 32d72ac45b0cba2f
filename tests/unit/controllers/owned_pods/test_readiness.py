"""For how long a pod has been ready."""

from datetime import timedelta

from mooring.controllers.owned_pods.readiness import (
    is_available,
    ready_for,
    seconds_until_available,
)
from tests.unit.controllers.owned_pods.some_pods import NOW, a_pod


def test_when_the_next_pod_will_be_available() -> None:
    ready = (NOW - timedelta(seconds=100)).isoformat()
    pods = (a_pod("a", since=ready), a_pod("b", ready=False), a_pod("c"))
    assert seconds_until_available(pods, 600, NOW) == 600 - 245
    assert seconds_until_available(pods, 0, NOW) is None


def test_available_is_ready_for_long_enough() -> None:
    assert is_available(a_pod("a"), 245, NOW)
    assert not is_available(a_pod("a"), 246, NOW)
    assert not is_available(a_pod("a", ready=False), 0, NOW)


def test_a_clock_that_is_behind_makes_no_pod_unready() -> None:
    later = (NOW + timedelta(seconds=1)).isoformat()
    assert ready_for(a_pod("a", since=later), NOW) == 0
    assert seconds_until_available([a_pod("a", since=later)], 5, NOW) == 5
