"""What belongs to Mooring, and what does not."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.apiserver.store.database import Row, open_database
from mooring.clock import RealClock
from mooring.errors import UsageError
from mooring.host import tree
from mooring.host.directory_lock import DirectoryLock
from mooring.stack.node_name import FILE as NODE_NAME_FILE
from mooring.upkeep import reset as module
from mooring.upkeep.place import Place
from mooring.upkeep.reset import Inventory, StillInUse, reset, take_inventory
from tests.fakes.mounts import FakeMounts

UID = "7106f7b2-110b-4324-aca4-a61bed8078e2"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that never had a node on this machine."""
    directory = tmp_path / "data"
    (directory / "driver" / "volumes" / "v1").mkdir(parents=True)
    (directory / "driver" / "volumes" / "v1" / "image").write_bytes(b"data")
    (directory / "volumes" / "hostpath_pv" / UID).mkdir(parents=True)
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
    assert take_inventory(Place(data, None)) == Inventory(
        data, None, 120, 1, 1, ("mine",), retained=None
    )


def a_volume(number: int, policy: str, **source: Any) -> Row:
    spec = {"persistentVolumeReclaimPolicy": policy, **source}
    if number % 2:
        spec["claimRef"] = {"namespace": "default", "name": f"claim-{number}"}
    value = json.dumps({"metadata": {"name": f"pv-{number}"}, "spec": spec}).encode()
    return Row("persistentvolumes", f"pv-{number}", value, number, None, number)


def test_volumes_that_are_to_be_retained_are_named(data: Path) -> None:
    (data / "mooring.db").unlink()
    (data / "mooring.db-wal").unlink()
    driver = {"csi": {"driver": "loop.csi.mooring.dev", "volumeHandle": "v1"}}
    inside = {"hostPath": {"path": str(data / "volumes" / "hostpath_pv" / UID)}}
    rows = [
        a_volume(2, "Retain", **driver),
        a_volume(3, "Retain", **inside),
        a_volume(4, "Delete", **driver),
        a_volume(5, "Retain", hostPath={"path": "/srv/photos"}),
        a_volume(6, "Retain", csi={"driver": "other", "volumeHandle": "v1"}),
        Row("persistentvolumes", "bad", b"[", 7, None, 7),
    ]
    database, _ = open_database(data / "mooring.db")
    database.stage(rows, (), 7)
    database.commit()
    database.close()
    found = take_inventory(Place(data, None))
    assert found.retained == ("pv/pv-2", "pv/pv-3 (of default/claim-3)")


class Killed(BaseException):
    pass


def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the call that removes something, the one with this number, not return."""
    left = [number]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real(*words, **named)

        return call

    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    monkeypatch.setattr(Path, "rmdir", counted(Path.rmdir))
    monkeypatch.setattr(tree, "remove_path", counted(tree.remove_path))


@pytest.mark.parametrize("number", range(2, 16))
def test_killed_anywhere_the_next_one_finishes(
    data: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patched:
        killed_at(number, patched)
        try:
            reset(data, FakeMounts(), RealClock(), 0.0, yes)
        except Killed:
            assert data.exists()
    if data.exists() and os.listdir(data):  # an empty directory is like none
        reset(data, FakeMounts(), RealClock(), 0.0, yes)
        assert not data.exists()


@pytest.mark.parametrize("lock", ["node/mooring.lock", "driver/mooring.lock"])
def test_a_node_or_a_driver_on_it_is_named_before_anybody_is_asked(data: Path, lock: str) -> None:
    (data / "node").mkdir()
    taken = DirectoryLock.take(data / lock)

    def never(_: Inventory) -> bool:
        raise AssertionError("asked")

    with pytest.raises(UsageError, match=f"is in use by .*pid {os.getpid()}"):
        reset(data, FakeMounts(), RealClock(), 0.0, never)
    taken.release()


def test_a_node_that_starts_while_the_question_is_open_keeps_everything(data: Path) -> None:
    (data / "node").mkdir()
    (data / "node" / "mooring.lock").touch(0o600)
    taken = []

    def start_one(_: Inventory) -> bool:
        taken.append(DirectoryLock.take(data / "node" / "mooring.lock"))
        return True

    with pytest.raises(UsageError, match="is in use by"):
        reset(data, FakeMounts(), RealClock(), 0.0, start_one)
    assert (data / "driver" / "volumes" / "v1" / "image").exists()
    taken[0].release()


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
        for place in (
            *(f"pods/{UID}/volumes", "plugins/kubernetes.io/csi", "plugins/other"),
            *("seccomp", "images/mine"),
        ):
            (tmp_path / name / place).mkdir(parents=True)
        module._remove_root(tmp_path / name)
    assert not (tmp_path / "default").exists()
    assert sorted(os.listdir(tmp_path / "given")) == ["images", "plugins", "seccomp"]
    assert os.listdir(tmp_path / "given" / "plugins") == ["other"]


def test_files_of_others_under_its_names_stay(data: Path) -> None:
    for path in ("volumes/photos/a.jpg", "driver/src/main.c", "pki/notes/mine"):
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).touch()
    removed = reset(data, FakeMounts(), RealClock(), 0.0, yes)
    assert removed is not None
    assert removed.others == ("driver", "pki", "volumes")
    left = sorted(str(path.relative_to(data)) for path in data.rglob("*") if path.is_file())
    assert left == ["driver/src/main.c", "pki/notes/mine", "volumes/photos/a.jpg"]


def test_directories_with_its_names_do_not_make_a_data_directory(tmp_path: Path) -> None:
    for name in ("node", "volumes", "driver", "pki"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    with pytest.raises(UsageError, match="is no data directory of mooring"):
        reset(tmp_path, FakeMounts(), RealClock(), 0.0, yes)
    assert len(list(tmp_path.rglob("mine"))) == 4


@pytest.mark.parametrize(
    "name", ["driver", "driver/trash", "volumes", "volumes/hostpath_pv", "pki"]
)
def test_links_in_place_of_its_directories_are_not_followed(
    data: Path, tmp_path: Path, name: str
) -> None:
    precious = tmp_path / "precious"
    for inside in (UID, "volumes", "trash", "ca.key"):
        (precious / inside / "mine").mkdir(parents=True)
    link = data / name
    if link.exists():
        shutil.rmtree(link)
    link.symlink_to(precious)
    reset(data, FakeMounts(), RealClock(), 0.0, yes)
    assert len(list(precious.rglob("mine"))) == 4


def test_the_root_of_another_data_directory_stays(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "homes" / "0123abcd"
    (root / "pods").mkdir(parents=True)
    (root / "data-dir").write_text(f"{tmp_path / 'moved'}\n")
    monkeypatch.setattr(module, "HOMES", tmp_path / "homes")
    assert not module._is_own_root(Place(data, root))
    assert take_inventory(Place(data, root)).root is None
