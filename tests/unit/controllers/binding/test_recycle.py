"""The pod that wipes a volume."""

import pytest

from mooring.controllers.binding.recycle import (
    HOST_PATH_DEADLINE,
    NFS_DEADLINE,
    Deadline,
    recycler_pod,
)
from tests.unit.controllers.binding.things import HOST_PATH, NFS, a_volume


@pytest.mark.parametrize(
    ("deadline", "size", "seconds"),
    [
        pytest.param(NFS_DEADLINE, "1Gi", 300, id="not less than the minimum"),
        pytest.param(NFS_DEADLINE, "20Gi", 600, id="so many seconds for each Gi"),
        pytest.param(HOST_PATH_DEADLINE, "2500Mi", 60, id="only whole Gi count"),
        pytest.param(HOST_PATH_DEADLINE, "3Gi", 90, id="the minimum differs"),
    ],
)
def test_how_long_it_may_take(deadline: Deadline, size: str, seconds: int) -> None:
    assert deadline.seconds(a_volume(size=size)) == seconds


def test_what_it_does() -> None:
    pod = recycler_pod(a_volume(nfs=NFS), 300)
    container = pod["spec"]["containers"][0]
    assert pod["metadata"] == {"name": "recycler-for-pv", "namespace": "default"}
    assert pod["spec"]["volumes"] == [{"name": "vol", "nfs": {"server": "s", "path": "/"}}]
    assert pod["spec"]["activeDeadlineSeconds"] == 300
    assert pod["spec"]["restartPolicy"] == "Never"
    assert container["volumeMounts"] == [{"name": "vol", "mountPath": "/scrub"}]
    assert container["command"] == ["/bin/sh"]
    assert container["args"][0] == "-c"


def test_a_host_path_is_mounted_without_its_type() -> None:
    pod = recycler_pod(a_volume(host_path=HOST_PATH), 60)
    assert pod["spec"]["volumes"] == [{"name": "vol", "hostPath": {"path": HOST_PATH.path}}]
