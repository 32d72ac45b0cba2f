import os
import pathlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.driver import state as state_module
from mooring.driver.records import AccessType, Blank, Formatted, SnapshotRecord, VolumeRecord
from mooring.driver.refusal import DATA_LOSS
from mooring.driver.state import State, open_state
from mooring.errors import KernelRefused, UsageError
from tests.fakes.system_calls import SystemCalls
from tests.unit.driver.calls import refused

ID = f"vol-{'0' * 32}"


def a_volume(identifier: str = ID, size: int = 4096) -> VolumeRecord:
    return VolumeRecord(
        identifier, "data", AccessType.MOUNT, "ext4", size, {"a": "b"}, None, Blank()
    )


def added(state: State, volume: VolumeRecord) -> VolumeRecord:
    with state.volumes.making(volume.id) as path:
        path.write_bytes(b"bytes")
        state.volumes.add(volume)
    return volume


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_what_was_added_is_there_after_a_restart(tmp_path: Path) -> None:
    volume = added(open_state(tmp_path), a_volume())
    again = open_state(tmp_path)
    assert again.volumes.find(ID) == volume
    assert again.volumes.all() == [volume]
    assert again.volumes.image(ID).read_bytes() == b"bytes"
    assert again.snapshots.all() == []


def test_a_snapshot_too(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    snapshot = SnapshotRecord(
        "snap-1", "s", ID, AccessType.MOUNT, "xfs", 8192, 5, Formatted("xfs", 8192), 4096
    )
    with state.snapshots.making(snapshot.id) as path:
        path.touch()
        state.snapshots.add(snapshot)
    assert open_state(tmp_path).snapshots.find("snap-1") == snapshot


def test_what_was_not_added_leaves_nothing(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    before = names(tmp_path)
    with state.volumes.making(ID) as path:
        path.touch()
    assert names(tmp_path) == before
    assert state.volumes.find(ID) is None


def test_what_was_replaced_is_there_after_a_restart(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    added(state, a_volume())
    state.volumes.replace(a_volume(size=8192))
    assert open_state(tmp_path).volumes.all() == [a_volume(size=8192)]


def test_what_was_removed_is_gone_with_its_bytes(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    before = names(tmp_path)
    added(state, a_volume())
    state.volumes.remove(ID)
    assert state.volumes.find(ID) is None
    assert names(tmp_path) == before


def test_only_drafts_and_garbage_are_cleared_away(tmp_path: Path) -> None:
    open_state(tmp_path)
    for name in ("making", "trash"):
        (tmp_path / name / ID).mkdir()
        (tmp_path / name / ID / "image").touch()
    stray = tmp_path / "volumes" / ID
    stray.mkdir()
    (stray / "image").write_bytes(b"somebody's")
    state = open_state(tmp_path)
    assert names(tmp_path / "making") == names(tmp_path / "trash") == []
    assert (stray / "image").read_bytes() == b"somebody's"
    with refused(DATA_LOSS, "left alone"):
        state.volumes.find(ID)


DAMAGE = {
    "half a record": b'{"id": "vol-',
    "nothing": b"",
    "a record of something else": b'{"id": 5}',
    "no text": b"\xff\xfe",
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_record_hides_its_volume_and_no_other(tmp_path: Path, content: bytes) -> None:
    state = open_state(tmp_path)
    added(state, a_volume())
    other = added(state, a_volume(f"vol-{'1' * 32}"))
    (tmp_path / "volumes" / ID / "record.json").write_bytes(content)
    again = open_state(tmp_path)
    assert again.volumes.all() == [other]
    with refused(DATA_LOSS, ID):
        again.volumes.find(ID)


def test_nobody_else_may_look_in(tmp_path: Path) -> None:
    root = tmp_path / "state"
    added(open_state(root), a_volume())
    assert all(path.stat().st_mode & 0o077 == 0 for path in (root, root / "volumes"))
    assert (root / "volumes" / ID / "record.json").stat().st_mode & 0o777 == 0o600


def test_a_state_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.touch()
    with pytest.raises(UsageError, match="state"):
        open_state(path)


@pytest.mark.parametrize("verb", ["add", "replace", "remove"])
def test_a_change_that_is_cut_anywhere_has_happened_or_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    old, new = a_volume(), a_volume(size=8192)
    outcomes = {"add": [[], [new]], "replace": [[old], [new]], "remove": [[old], []]}
    for cut in range(1, 60):
        root = tmp_path / str(cut)
        state = open_state(root)
        if verb != "add":
            added(state, old)

        with monkeypatch.context() as patch:
            SystemCalls(dying_at(cut)).install(patch, state_module, pathlib, shutil)
            finished = attempt(state, verb, new)
        after = open_state(root).volumes.all()
        assert after in outcomes[verb]
        if finished:
            assert cut > 1
            assert after == outcomes[verb][1]
            return
    pytest.fail("it never came to its end")


def dying_at(cut: int) -> Callable[[int], None]:
    def strike(number: int) -> None:
        if number >= cut:  # from here on, nothing more happens
            raise OSError(5, os.strerror(5))

    return strike


def attempt(state: State, verb: str, new: VolumeRecord) -> bool:
    try:
        if verb == "add":
            added(state, new)
        elif verb == "replace":
            state.volumes.replace(new)
        else:
            state.volumes.remove(ID)
    except KernelRefused:
        return False
    return True
