"""Going through trees that others may change."""

import os
import resource
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import tree

DEPTH = 300


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path, os.O_RDONLY)
    yield opened
    os.close(opened)


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """As many as a walk of any depth may need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 80, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def nest(depth: int, directory: Path) -> None:
    """A chain of directories, each with a file."""
    held = os.open(directory, os.O_RDONLY)
    for _ in range(depth):
        os.close(os.open("file", os.O_CREAT, dir_fd=held))
        os.mkdir("deeper", dir_fd=held)
        below = os.open("deeper", os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = below
    os.close(held)


def test_every_entry_once_and_directories_after_what_is_in_them(tmp_path: Path, root: int) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    (tmp_path / "a" / "loop").symlink_to("..")
    (tmp_path / "dangling").symlink_to("nowhere")
    order = []
    with closing(tree.walk(root)) as visits:
        for directory, name, inode, kind in visits:
            is_directory = kind is tree.EntryKind.DIRECTORY
            place = Path(os.readlink(f"/proc/self/fd/{directory}")) / name
            seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
            assert (seen.st_ino, place.is_dir() and not place.is_symlink()) == (inode, is_directory)
            order.append(str(place.relative_to(tmp_path)))
    expected = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert (len(order), set(order)) == (len(expected), expected)
    position = {name: number for number, name in enumerate(order)}
    for name in order:
        parent = os.path.dirname(name)
        assert not parent or position[parent] > position[name]


@pytest.mark.usefixtures("few_descriptors")
def test_any_depth_with_few_descriptors(tmp_path: Path, root: int) -> None:
    nest(DEPTH, tmp_path)
    with closing(tree.walk(root)) as visits:
        assert sum(1 for _ in visits) == 2 * DEPTH
    tree.remove_path(tmp_path / "deeper")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.usefixtures("few_descriptors")
def test_going_up_and_down_again_below_many_levels(tmp_path: Path, root: int) -> None:
    deepest = tmp_path.joinpath(*["d"] * 70)
    deepest.mkdir(parents=True)
    for number in range(5):
        nest(40, _made(deepest / str(number)))
    with closing(tree.walk(root)) as visits:
        assert sum(1 for _ in visits) == 70 + 5 * (1 + 2 * 40)


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def test_a_directory_moved_away_above_a_deep_walk_is_an_error(tmp_path: Path, root: int) -> None:
    nest(200, tmp_path)
    deep = tmp_path.joinpath(*["deeper"] * 50)
    with closing(tree.walk(root)) as visits:
        for _, _, _, kind in visits:
            if kind is tree.EntryKind.DIRECTORY:  # at the bottom, and about to come up
                deep.rename(tmp_path / "elsewhere")
                break
        with pytest.raises(OSError, match="moved elsewhere during the walk"):
            list(visits)


def test_what_vanishes_is_left_out(tmp_path: Path, root: int) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with closing(tree.walk(root)) as visits:
        _, first, _, _ = next(visits)
        (other,) = {"a", "b"} - {first}
        (tmp_path / other).rmdir()
        assert list(visits) == []


def test_a_directory_swapped_for_a_link_is_visited_and_not_entered(
    tmp_path: Path, root: int
) -> None:
    outside = _made(tmp_path / "outside")
    (outside / "secret").touch()
    inside = _made(tmp_path / "inside")
    for name in ("a", "b"):
        (inside / name).mkdir()
    opened = os.open(inside, os.O_RDONLY)
    try:
        with closing(tree.walk(opened)) as visits:
            _, first, _, _ = next(visits)
            (other,) = {"a", "b"} - {first}
            (inside / other).rmdir()
            (inside / other).symlink_to(outside)
            rest = [(name, kind) for _, name, _, kind in visits]
    finally:
        os.close(opened)
    assert rest == [(other, tree.EntryKind.OTHER)]


def test_descriptors_are_closed_when_a_walk_is_left(tmp_path: Path, root: int) -> None:
    nest(5, tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    with closing(tree.walk(root)) as visits:
        for _, _, _, kind in visits:
            if kind is tree.EntryKind.DIRECTORY:
                break
    assert len(os.listdir("/proc/self/fd")) == before


def test_remove_takes_all_and_follows_nothing(tmp_path: Path, root: int) -> None:
    outside = _made(tmp_path / "outside")
    (outside / "kept").touch()
    target = _made(tmp_path / "target")
    nest(3, target)
    (target / "link").symlink_to(outside)
    os.mkfifo(target / "fifo")
    tree.remove(root, "target")
    tree.remove(root, "target")
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(outside) == ["kept"]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_remove_takes_a_file_or_a_link_itself(tmp_path: Path, root: int, kind: str) -> None:
    outside = _made(tmp_path / "outside")
    (outside / "kept").touch()
    if kind == "file":
        (tmp_path / "x").touch()
    else:
        (tmp_path / "x").symlink_to(outside)
    tree.remove(root, "x")
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(outside) == ["kept"]


def test_remove_path_tells_what_went_wrong(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"^remove .*/none/x: no such file or directory$"):
        tree.remove_path(tmp_path / "none" / "x")
