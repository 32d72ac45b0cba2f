"""How long the pod that wipes a volume may take."""

import pytest

from mooring.controllers.binding.effects.recycle import HOST_PATH_DEADLINE, NFS_DEADLINE, Deadline
from tests.unit.controllers.binding.things import a_volume


@pytest.mark.parametrize(
    ("deadline", "size", "seconds"),
    [
        pytest.param(NFS_DEADLINE, "1Gi", 300, id="not less than the minimum"),
        pytest.param(NFS_DEADLINE, "20Gi", 600, id="so many seconds for each Gi"),
        pytest.param(HOST_PATH_DEADLINE, "2500Mi", 60, id="only whole Gi count"),
        pytest.param(HOST_PATH_DEADLINE, "3Gi", 90, id="the minimum differs"),
        pytest.param(Deadline(minimum=5, per_gib=7), "2Gi", 14, id="both can be set"),
    ],
)
def test_how_long_it_may_take(deadline: Deadline, size: str, seconds: int) -> None:
    assert deadline.seconds(a_volume(size=size)) == seconds
