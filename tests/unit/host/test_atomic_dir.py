"""The atomic directory writer, one call at a time."""

import os
import re
import stat
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import atomic_dir
from mooring.host.atomic_dir import FileContent

STAMP = re.compile(r"\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+")


def files(**texts: str) -> dict[str, FileContent]:
    """A payload; `__` in a name stands for a slash."""
    return {
        name.replace("__", "/"): FileContent(text.encode(), 0o644) for name, text in texts.items()
    }


def visible(directory: Path) -> dict[str, str]:
    """What a container sees: every file below, through links, reserved names left out."""
    return {
        os.path.relpath(os.path.join(place, name), directory): Path(place, name).read_text()
        for place, _, names in os.walk(directory, followlinks=True)
        for name in names
        if not os.path.relpath(place, directory).startswith("..") and not name.startswith("..")
    }


def generations(directory: Path) -> list[str]:
    return [name for name in os.listdir(directory) if STAMP.fullmatch(name)]


def test_the_layout_is_the_one_that_programs_watch(tmp_path: Path) -> None:
    assert atomic_dir.write(tmp_path, files(key="1", user__labels="2", user__deep__x="3"))
    (generation,) = generations(tmp_path)
    links = {entry.name: os.readlink(entry) for entry in os.scandir(tmp_path) if entry.is_symlink()}
    assert links == {"..data": generation, "key": "..data/key", "user": "..data/user"}
    assert set(os.listdir(tmp_path)) == {generation, *links}
    assert visible(tmp_path) == {"key": "1", "user/labels": "2", "user/deep/x": "3"}


def test_modes_are_exact_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        payload = {"a": FileContent(b"", 0o666), "d/b": FileContent(b"", 0o400)}
        atomic_dir.write(tmp_path, payload)
    finally:
        os.umask(before)
    (generation,) = generations(tmp_path)
    modes = {
        name: stat.S_IMODE((tmp_path / generation / name).stat().st_mode)
        for name in (".", "a", "d", "d/b")
    }
    assert modes == {".": 0o755, "a": 0o666, "d": 0o755, "d/b": 0o400}


CHANGES = {
    "a key is added": (files(a="1"), files(a="1", b="2")),
    "a key is changed": (files(a="1", b="2"), files(a="1", b="3")),
    "a change that keeps the size": (files(a="12"), files(a="21")),
    "a key is removed": (files(a="1", b="2"), files(a="1")),
    "all keys are removed": (files(a="1"), {}),
    "the first key comes": ({}, files(a="1")),
    "a file below a directory is removed": (files(d__a="1", d__b="2"), files(d__a="1")),
    "a directory is removed": (files(d__e__a="1", x="2"), files(x="2")),
    "a file becomes a directory": (files(x="1"), files(x__y="1")),
    "a directory becomes a file": (files(x__y="1"), files(x="1")),
    "a file moves to another directory": (files(d__a="1"), files(e__a="1")),
}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_files_follow(
    tmp_path: Path, before: dict[str, FileContent], after: dict[str, FileContent]
) -> None:
    atomic_dir.write(tmp_path, before)
    old = generations(tmp_path)
    assert atomic_dir.write(tmp_path, after)
    assert visible(tmp_path) == {path: content.data.decode() for path, content in after.items()}
    (new,) = generations(tmp_path)
    names = {path.partition("/")[0] for path in after}
    assert set(os.listdir(tmp_path)) == {"..data", new, *names}
    assert [new] != old
    assert not atomic_dir.write(tmp_path, after)
    assert generations(tmp_path) == [new]


def test_an_empty_payload_makes_a_directory_that_can_be_watched(tmp_path: Path) -> None:
    assert atomic_dir.write(tmp_path, {})
    assert os.listdir(tmp_path / "..data") == []


def test_another_mode_alone_rewrites_nothing(tmp_path: Path) -> None:
    atomic_dir.write(tmp_path, {"a": FileContent(b"1", 0o644)})
    assert not atomic_dir.write(tmp_path, {"a": FileContent(b"1", 0o600)})
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_a_refused_path_changes_nothing(tmp_path: Path) -> None:
    atomic_dir.write(tmp_path, files(a="1"))
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(HostError, match="must not start with"):
        atomic_dir.write(tmp_path, {"a": FileContent(b"2", 0o644), "..x": FileContent(b"", 0o644)})
    assert sorted(os.listdir(tmp_path)) == before
    assert visible(tmp_path) == {"a": "1"}


def test_own_is_called_before_readers_see_a_change_and_only_then(tmp_path: Path) -> None:
    seen: list[dict[str, str]] = []

    def own(directory: Path) -> None:
        assert directory == tmp_path
        seen.append(visible(tmp_path))

    atomic_dir.write(tmp_path, files(a="1"), own)
    atomic_dir.write(tmp_path, files(a="1"), own)
    atomic_dir.write(tmp_path, files(a="2"), own)
    assert seen == [{}, {"a": "1"}]


def test_when_own_fails_readers_keep_what_they_had(tmp_path: Path) -> None:
    def refuse(_: Path) -> None:
        raise HostError("no")

    atomic_dir.write(tmp_path, files(a="1"))
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(HostError, match=r"^no$"):
        atomic_dir.write(tmp_path, files(a="2"), refuse)
    assert sorted(os.listdir(tmp_path)) == before
    assert visible(tmp_path) == {"a": "1"}


def test_missing_links_are_made_without_a_new_generation(tmp_path: Path) -> None:
    atomic_dir.write(tmp_path, files(a="1", b="2"))
    before = generations(tmp_path)
    (tmp_path / "b").unlink()
    assert not atomic_dir.write(tmp_path, files(a="1", b="2"))
    assert visible(tmp_path) == {"a": "1", "b": "2"}
    assert generations(tmp_path) == before


@pytest.mark.parametrize("after", [files(a="1"), files(a="2")], ids=["same files", "other files"])
def test_what_a_killed_writer_left_is_taken_away(
    tmp_path: Path, after: dict[str, FileContent]
) -> None:
    atomic_dir.write(tmp_path, files(a="1"))
    orphan = tmp_path / "..2020_01_01_00_00_00.1"
    (orphan / "deep").mkdir(parents=True)
    (orphan / "deep" / "file").write_text("half")
    (tmp_path / "..data_tmp").symlink_to(orphan.name)
    (tmp_path / "old").symlink_to("..data/old")
    atomic_dir.write(tmp_path, after)
    (generation,) = generations(tmp_path)
    assert set(os.listdir(tmp_path)) == {"..data", generation, "a"}


def test_a_missing_generation_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "..data").symlink_to("..2020_01_01_00_00_00.1")
    assert atomic_dir.write(tmp_path, files(a="1"))
    assert visible(tmp_path) == {"a": "1"}


def test_what_was_not_made_here_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to("mine")
    (tmp_path / "..other").mkdir()
    atomic_dir.write(tmp_path, files(a="1", b="2"))
    atomic_dir.write(tmp_path, files(b="3"))
    assert visible(tmp_path) == {"b": "3", "mine": "mine", "link": "mine"}
    assert {"a", "..other"} < set(os.listdir(tmp_path))


def test_links_that_lead_outside_are_never_followed(tmp_path: Path) -> None:
    outside, volume = tmp_path / "outside", tmp_path / "volume"
    outside.mkdir()
    (outside / "a").write_text("1")
    volume.mkdir()
    (volume / "..data").symlink_to(outside)
    (volume / "..2020_01_01_00_00_00.1").symlink_to(outside)
    (volume / "..data_tmp").symlink_to(outside)
    assert atomic_dir.write(volume, files(a="1", d__b="2"))
    assert [path.name for path in outside.iterdir()] == ["a"]
    (generation,) = generations(volume)
    assert os.readlink(volume / "..data") == generation


def test_a_link_inside_a_generation_counts_as_a_change(tmp_path: Path) -> None:
    volume, outside = tmp_path / "volume", tmp_path / "outside"
    volume.mkdir()
    outside.write_text("1")
    atomic_dir.write(volume, files(a="1", d__b="2"))
    generation = volume / os.readlink(volume / "..data")
    (generation / "a").unlink()
    (generation / "a").symlink_to(outside)
    assert atomic_dir.write(volume, files(a="1", d__b="2"))
    assert not (volume / "..data" / "a").is_symlink()


def test_data_that_is_no_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "..data").mkdir()
    with pytest.raises(HostError, match="invalid argument"):
        atomic_dir.write(tmp_path, files(a="1"))
    assert os.listdir(tmp_path) == ["..data"]


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"none: no such file or directory$"):
        atomic_dir.write(tmp_path / "none", files(a="1"))


def test_a_very_deep_path_is_written(tmp_path: Path) -> None:
    path = "/".join(["d"] * 1_100)
    payload = {path: FileContent(b"deep", 0o644)}
    assert atomic_dir.write(tmp_path, payload)
    assert not atomic_dir.write(tmp_path, payload)
    assert atomic_dir.write(tmp_path, {})


def test_content_is_never_shown() -> None:
    assert "hunter2" not in repr(FileContent(b"hunter2", 0o600))
