"""How many pods there may be too many, and too few."""

import pytest

from mooring.controllers.deployment.decide.limits import max_surge, max_unavailable
from tests.unit.controllers.deployment.deployments import a_deployment

TABLE: dict[str, tuple[int, int | str, int | str, tuple[int, int]]] = {
    "a quarter of three: one more, none less": (3, "25%", "25%", (1, 0)),
    "a quarter of ten: three more, two less": (10, "25%", "25%", (3, 2)),
    "numbers": (10, 4, 3, (4, 3)),
    "rounded to neither: one less": (3, "0%", "25%", (0, 1)),
    "more missing than there are": (2, 0, 5, (0, 2)),
    "none wanted": (0, "25%", "25%", (0, 0)),
    "all": (4, "100%", "100%", (4, 4)),
    "nonsense counts as none": (4, "few", 1, (0, 1)),
}


@pytest.mark.parametrize(("replicas", "surge", "unavailable", "then"), TABLE.values(), ids=TABLE)
def test_limits(
    replicas: int, surge: int | str, unavailable: int | str, then: tuple[int, int]
) -> None:
    deployment = a_deployment(replicas, surge, unavailable)
    assert (max_surge(deployment), max_unavailable(deployment)) == then


def test_there_are_none_when_pods_are_recreated() -> None:
    deployment = a_deployment(4, strategy={"type": "Recreate"})
    assert (max_surge(deployment), max_unavailable(deployment)) == (0, 0)
