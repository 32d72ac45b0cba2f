"""Which directories are data directories, and who has them."""

import os
from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.upkeep.place import Place, find_place, find_root, held, in_use


def test_one_without_a_node(tmp_path: Path) -> None:
    (tmp_path / "mooring.db").touch()
    assert find_place(tmp_path) == Place(tmp_path, None)


def test_one_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^there is no .*/none: give the directory of"):
        find_place(tmp_path / "none")


def test_a_directory_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(UsageError, match="is no data directory of mooring"):
        find_place(tmp_path)


def test_of_a_server_on_etcd_it_is_said_where_its_objects_are(tmp_path: Path) -> None:
    (tmp_path / "etcd-revision").touch()
    with pytest.raises(UsageError, match="are in etcd, not in it"):
        find_place(tmp_path)


def test_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "mooring.db").touch()
    place = find_place(tmp_path)
    with held(place), pytest.raises(UsageError, match=rf"\(pid {os.getpid()}\)"), held(place):
        pass
    with held(place):
        pass


def test_who_has_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.upkeep.place._PROGRAMS", tmp_path)
    for pid, words in ((7, b"python\0-m\0mooring\0up\0"), (8, b"/bin/mooring\0reset\0--yes\0")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_bytes(words)
    place = Path("/data")
    assert in_use(place, 7) == (
        "/data is in use by `mooring up` (pid 7): stop it first, with Ctrl-C or SIGTERM"
    )
    assert in_use(place, 8) == "/data is in use by `mooring reset` (pid 8): wait for it"
    assert "another mooring (pid unknown)" in in_use(place, 0)


def test_the_root_of_a_node_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no root directory of a node"):
        find_root(tmp_path)
    (tmp_path / "mooring.lock").touch()
    (tmp_path / "pods").mkdir()
    assert find_root(tmp_path) == tmp_path


def test_the_root_of_a_data_directory_is_named_by_that(tmp_path: Path) -> None:
    root, data = tmp_path / "root", tmp_path / "data"
    for made in (root, data, root / "pods"):
        made.mkdir(0o700)
    (root / "mooring.lock").touch()
    (root / "data-dir").write_text(f"{data}\n")
    assert find_root(root) == root  # of one that was removed
    (data / "node").symlink_to(root)
    with pytest.raises(UsageError, match=f"give --data-dir {data} instead"):
        find_root(root)
