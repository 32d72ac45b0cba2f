"""When a node that is taken down may tell that it has left."""

from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.errors import HostError, UsageError
from mooring.host.directory_lock import InUse
from mooring.host.mountinfo import MountEntry
from mooring.upkeep import detached, down
from mooring.upkeep.detached import RECORD, DetachedMounts
from mooring.upkeep.down import Report, take_down_root
from mooring.upkeep.place import held_root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "mooring.lock").touch()
    (tmp_path / "pods").mkdir()
    return tmp_path


def told(root: Path) -> tuple[list[Path], Report]:
    calls: list[Path] = []

    def leave(of: Path) -> str:
        with pytest.raises((UsageError, InUse)), held_root(of):
            pass  # nobody starts the node meanwhile
        calls.append(of)
        return "bye"

    return calls, take_down_root(root, RealClock(), 0.0, leave)


def test_one_of_which_nothing_is_left_tells_it(root: Path) -> None:
    calls, report = told(root)
    assert (calls, report.farewell, report.troubles) == ([root], "bye", [])


def test_one_that_could_not_end_everything_does_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise HostError("a container cannot be killed")

    monkeypatch.setattr(down, "_end_pods", fails)
    calls, report = told(root)
    assert (calls, report.farewell) == ([], "")
    assert report.troubles == ["a container cannot be killed"]


@pytest.mark.parametrize("left", ["a mount", "a container"])
def test_nor_one_of_which_something_is_left_that_nobody_complained_of(
    root: Path, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Something:
        mount_point = root / "pods" / "x"
        is_running = True

        def below(self, _: Path) -> list["Something"]:
            return [self] if left == "a mount" else []

    monkeypatch.setattr(down, "_end_pods", lambda *_: None)
    monkeypatch.setattr(down, "_unmount_root", lambda *_: None)
    monkeypatch.setattr(down, "read_table", Something)
    monkeypatch.setattr(down, "list_containers", lambda _: [Something()])
    assert told(root) == ([], Report())


def test_what_cannot_be_looked_at_counts_as_left(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise HostError("the disk does not answer")

    monkeypatch.setattr(down, "_end_pods", lambda *_: None)
    monkeypatch.setattr(down, "list_containers", fails)
    calls, _ = told(root)
    assert calls == []


HUNG = MountEntry(7, 1, (0, 9), "/", "/m", (), (), "nfs4", "server:/a", ())


def test_what_was_detached_lazily_before_keeps_it_from_telling(root: Path) -> None:
    """The second `down` sees no mount any more, though its file system may be written to."""
    DetachedMounts(root).note(HUNG)
    calls, report = told(root)
    assert calls == []
    assert report.troubles == [
        "/m (nfs4 of server:/a) was detached lazily and may still be written to, so no cluster is "
        "told that the node has left: restart this machine, then try again"
    ]


def test_after_a_restart_of_the_machine_it_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DetachedMounts(root).note(HUNG)
    monkeypatch.setattr(detached, "boot_id", lambda: "another")
    calls, report = told(root)
    assert (calls, report.troubles) == ([root], [])


def test_a_record_that_cannot_be_read_keeps_it_from_telling(root: Path) -> None:
    (root / RECORD).write_text("[{")
    calls, report = told(root)
    assert calls == []
    assert "is damaged" in report.troubles[0]
