"""vol_data.json: as a kubelet writes it, whole or not at all."""

import json
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.plugins.contract import VolumeError
from mooring.plugins.csi import data_file
from mooring.plugins.csi.data_file import VolumeData

STAGED = VolumeData("d.example.com", "vol-1")
PUBLISHED = VolumeData(
    "d.example.com", "vol-1", name="pv1", node="n1", attachment="csi-1", mode="Persistent"
)
OF_A_KUBELET = (
    '{"attachmentID":"csi-1","driverName":"d.example.com","nodeName":"n1",'
    '"specVolID":"pv1","volumeHandle":"vol-1","volumeLifecycleMode":"Persistent"}\n'
)


def test_it_is_written_as_a_kubelet_writes_it(tmp_path: Path) -> None:
    assert data_file.save(tmp_path, PUBLISHED)
    assert (tmp_path / "vol_data.json").read_text() == OF_A_KUBELET
    assert [path.name for path in tmp_path.iterdir()] == ["vol_data.json"]


def test_of_a_staged_volume_driver_and_handle_are_told(tmp_path: Path) -> None:
    data_file.save(tmp_path / "made", STAGED)
    written = json.loads((tmp_path / "made" / "vol_data.json").read_text())
    assert written == {"driverName": "d.example.com", "volumeHandle": "vol-1"}


def test_what_a_kubelet_wrote_is_read(tmp_path: Path) -> None:
    more = OF_A_KUBELET.replace("{", '{"seLinuxMountContext":"s0","newer":"1",')
    (tmp_path / "vol_data.json").write_text(more)
    found = data_file.find(tmp_path)
    assert found == VolumeData(
        "d.example.com", "vol-1", "pv1", "n1", "csi-1", "Persistent", selinux_label="s0"
    )
    assert not found.is_inline


def test_only_what_was_not_there_is_new(tmp_path: Path) -> None:
    assert data_file.save(tmp_path, STAGED)
    before = (tmp_path / "vol_data.json").stat()
    assert not data_file.save(tmp_path, STAGED)
    assert (tmp_path / "vol_data.json").stat().st_ino == before.st_ino
    assert not data_file.save(tmp_path, PUBLISHED)
    assert data_file.find(tmp_path) == PUBLISHED


def test_none_is_none(tmp_path: Path) -> None:
    assert data_file.find(tmp_path) is None
    assert data_file.find(tmp_path / "nowhere") is None


SENSELESS = {
    "empty, after a power cut": b"",
    "cut short": b'{"driverName":"d"',
    "of another shape": b'{"driverName":"d","volumeHandle":1}',
    "without a handle": b'{"driverName":"d"}',
    "with an empty driver": b'{"driverName":"","volumeHandle":"v"}',
}


@pytest.mark.parametrize("content", SENSELESS.values(), ids=SENSELESS)
def test_what_makes_no_sense_is_refused_and_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vol_data.json"
    path.write_bytes(content)
    said = r"kubernetes.io/csi: failed to parse volume data file \[" + str(path)
    with pytest.raises(VolumeError, match=said):
        data_file.find(tmp_path)
    assert path.read_bytes() == content


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vol_data.json").mkdir()
    with pytest.raises(VolumeError, match="failed to open volume data file"):
        data_file.find(tmp_path)
    with pytest.raises(HostError, match="is a directory"):
        data_file.save(tmp_path, STAGED)


def test_a_removal_takes_the_draft_too(tmp_path: Path) -> None:
    data_file.save(tmp_path, STAGED)
    (tmp_path / ".vol_data.json.new").touch()
    data_file.remove(tmp_path)
    data_file.remove(tmp_path)
    assert not list(tmp_path.iterdir())
