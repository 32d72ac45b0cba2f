"""How many volumes of pods are mounted."""

from pathlib import Path

from mooring.host.mountinfo import parse
from mooring.upkeep.running import count_volumes, tell_what_goes_on

ROOT = Path("/n")
PLACES = (
    "/n",
    "/n/host",
    "/n/pods/u1/volumes/kubernetes.io~csi/a/mount",
    "/n/pods/u1/volumes/kubernetes.io~csi/a/mount/inner",
    "/n/pods/u1/volume-subpaths/a/c/0",
    "/n/pods/u1/volumes/kubernetes.io~empty-dir/b",
    "/n/pods/u2/volumes/kubernetes.io~csi/a/mount",
    "/n/plugins/kubernetes.io/csi/d/x/globalmount",
)


def test_each_volume_counts_once_for_each_pod() -> None:
    lines = [
        f"{number} 1 8:1 / {at} rw - ext4 /dev/x rw" for number, at in enumerate(PLACES, start=2)
    ]
    assert count_volumes(parse("\n".join(lines).encode()), ROOT) == 3


def test_nothing_is_said_where_nothing_is(tmp_path: Path) -> None:
    assert tell_what_goes_on(tmp_path / "none") == ""
    (tmp_path / "mooring.db").touch()
    assert tell_what_goes_on(tmp_path) == ""
