"""Where things are: as every CSI driver and kubelet expects."""

from pathlib import Path

import pytest

from mooring.plugins.csi.paths import CsiPaths
from mooring.plugins.layout import Layout

PLACES = CsiPaths(Layout(Path("/r")))
CSI = "/r/plugins/kubernetes.io/csi"
SHA = "d2e8363faaac7ae76def3b14091d8eb5755f6b92e9531627aeec833a8731cc49"

PATHS = {
    "a volume is staged by the hash of its handle": (
        PLACES.staging("d.example.com", "vol-1"),
        f"{CSI}/d.example.com/{SHA}/globalmount",
    ),
    "a volume is published in its pod's directory": (
        PLACES.target("uid", "pv1"),
        "/r/pods/uid/volumes/kubernetes.io~csi/pv1/mount",
    ),
    "a device is staged by the volume's name": (
        PLACES.block_staging("pv1"),
        f"{CSI}/volumeDevices/staging/pv1",
    ),
    "a device is published outside of the pod": (
        PLACES.block_publishes("pv1") / "uid",
        f"{CSI}/volumeDevices/publish/pv1/uid",
    ),
    "a device is bound for each pod": (
        PLACES.block_map("pv1") / "uid",
        f"{CSI}/volumeDevices/pv1/dev/uid",
    ),
    "a device's data file is beside that": (
        PLACES.block_data("pv1"),
        f"{CSI}/volumeDevices/pv1/data",
    ),
}


@pytest.mark.parametrize(("path", "expected"), PATHS.values(), ids=PATHS)
def test_places(path: Path, expected: str) -> None:
    assert str(path) == expected
