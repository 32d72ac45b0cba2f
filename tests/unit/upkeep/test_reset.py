"""What belongs to Mooring, and what does not."""

import os
from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.errors import UsageError
from mooring.stack.node_name import FILE as NODE_NAME_FILE
from mooring.upkeep import reset as module
from mooring.upkeep.place import Place
from mooring.upkeep.reset import Inventory, StillInUse, reset, take_inventory
from tests.fakes.mounts import FakeMounts


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that never had a node on this machine."""
    directory = tmp_path / "data"
    (directory / "driver" / "volumes" / "v1").mkdir(parents=True)
    (directory / "driver" / "volumes" / "v1" / "image").write_bytes(b"data")
    (directory / "volumes" / "pvc-1").mkdir(parents=True)
    (directory / "mooring.db").write_bytes(b"x" * 100)
    (directory / "mooring.db-wal").write_bytes(b"x" * 20)
    (directory / "tokens.json").touch()
    (directory / NODE_NAME_FILE).touch()
    return directory


def yes(_: Inventory) -> bool:
    return True


def no(_: Inventory) -> bool:
    return False


def test_the_inventory(data: Path) -> None:
    (data / "mine").touch()
    assert take_inventory(Place(data, None)) == Inventory(data, None, 120, 1, 1, ("mine",))


def test_all_of_it_goes(data: Path) -> None:
    removed = reset(data, FakeMounts(), RealClock(), 0.0, yes)
    assert removed is not None
    assert removed.paths == (data,)
    assert not data.exists()


def test_who_says_no_keeps_everything(data: Path) -> None:
    before = sorted(os.listdir(data))
    assert reset(data, FakeMounts(), RealClock(), 0.0, no) is None
    assert sorted(os.listdir(data)) == sorted({*before, "mooring.db.lock"})


def test_an_open_image_is_named_and_nothing_goes(data: Path) -> None:
    image = data / "driver" / "volumes" / "v1" / "image"
    with image.open("rb"), pytest.raises(StillInUse, match=f"{image} is open"):
        reset(data, FakeMounts(), RealClock(), 0.0, yes)
    assert image.read_bytes() == b"data"


def test_what_is_no_data_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(UsageError, match="is no data directory of mooring"):
        reset(tmp_path, FakeMounts(), RealClock(), 0.0, yes)
    assert (tmp_path / "photos").is_dir()


def test_a_root_of_its_own_goes_whole_and_one_that_was_given_keeps_what_others_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HOMES", tmp_path)
    for name in ("default", "given"):
        for place in ("pods/u1/volumes", "plugins/kubernetes.io/csi", "plugins/other", "seccomp"):
            (tmp_path / name / place).mkdir(parents=True)
        module._remove_root(tmp_path / name)
    assert not (tmp_path / "default").exists()
    assert sorted(os.listdir(tmp_path / "given")) == ["plugins", "seccomp"]
    assert os.listdir(tmp_path / "given" / "plugins") == ["other"]
