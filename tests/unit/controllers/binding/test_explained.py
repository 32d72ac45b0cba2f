"""Why a claim gets no volume, in words."""

import pytest

from mooring.controllers.binding.decide.explained import too_small, unregistered
from tests.unit.controllers.binding.things import RWO, a_claim, a_volume

LOOP = "loop.csi.mooring.dev"
HOST_PATH = "kubernetes.io/host-path"

SAID = {
    "nobody is there": ("d", (), 'No CSI driver or plugin "d" is registered, nor is any other.'),
    "a slip of the finger": (
        "loop.csi.moring.dev",
        (LOOP, HOST_PATH),
        f'No CSI driver or plugin "loop.csi.moring.dev" is registered; registered are '
        f'"{HOST_PATH}", "{LOOP}". Did you mean "{LOOP}"?',
    ),
    "nothing like it": (
        "ebs.csi.aws.com",
        (HOST_PATH,),
        f'No CSI driver or plugin "ebs.csi.aws.com" is registered; registered are "{HOST_PATH}".',
    ),
}


@pytest.mark.parametrize(("asked", "there", "said"), SAID.values(), ids=SAID)
def test_who_is_registered_is_listed_and_the_nearest_name(
    asked: str, there: tuple[str, ...], said: str
) -> None:
    assert unregistered(asked, there) == said


def test_a_long_list_is_cut() -> None:
    said = unregistered("x", [f"d{number:02}" for number in range(12)])
    assert said.endswith('"d08", "d09" and 2 more.')


def test_a_claim_that_asks_for_too_much_is_told_how_much_there_is() -> None:
    assert too_small(a_claim("5Gi", RWO), a_volume("disk", "1Gi", RWO), "no class") == (
        "no persistent volume is large enough: the claim asks for 5Gi, and the largest that would "
        'fit otherwise, "disk", has 1Gi; no class'
    )
