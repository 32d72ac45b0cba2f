"""Names below a descriptor, through no link."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.host import no_follow

OpenBeneath = Callable[[int, str], int]
WAYS = {"in one call": no_follow.open_at_once, "by steps": no_follow.open_by_steps}


def has_openat2() -> bool:
    root = os.open("/", os.O_PATH)
    try:
        os.close(no_follow.open_at_once(root, "."))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


@pytest.fixture(params=WAYS.values(), ids=list(WAYS))
def open_beneath(request: pytest.FixtureRequest) -> OpenBeneath:
    way: OpenBeneath = request.param
    if way is no_follow.open_at_once and not has_openat2():
        pytest.skip("this kernel, or its sandbox, has no openat2")
    return way


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "file").write_text("x")
    os.mkfifo(tmp_path / "d" / "fifo")
    (tmp_path / "link").symlink_to("d")
    (tmp_path / "d" / "out").symlink_to("/")
    (tmp_path / "dangling").symlink_to("nowhere")
    opened = os.open(tmp_path, os.O_PATH)
    yield opened
    os.close(opened)


@pytest.mark.parametrize("path", [".", "d", "d/e", "d/file", "d/fifo", "./d/./e"])
def test_what_is_beneath_is_opened(
    tmp_path: Path, root: int, open_beneath: OpenBeneath, path: str
) -> None:
    found = open_beneath(root, path)
    try:
        assert os.path.samestat(os.fstat(found), (tmp_path / path).lstat())
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.read(found, 1)  # held, not opened: a FIFO or device does not notice
    finally:
        os.close(found)


REFUSED = {
    "a link at the end": ("link", errno.ELOOP),
    "a link on the way": ("link/e", errno.ELOOP),
    "a link out of the tree": ("d/out", errno.ELOOP),
    "a way through a link out of the tree": ("d/out/etc", errno.ELOOP),
    "a dangling link": ("dangling", errno.ELOOP),
    "a step back": ("..", errno.EXDEV),
    "what is not there": ("d/none", errno.ENOENT),
    "a way through a file": ("d/file/x", errno.ENOTDIR),
}


@pytest.mark.parametrize(("path", "code"), REFUSED.values(), ids=REFUSED)
def test_refused(root: int, open_beneath: OpenBeneath, path: str, code: int) -> None:
    with pytest.raises(OSError, match=r".") as refused:
        open_beneath(root, path)
    assert refused.value.errno == code


def test_without_the_system_call_steps_are_taken(
    root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_such_call(*_: object) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(no_follow, "open_at_once", no_such_call)
    os.close(no_follow.open_beneath(root, "d/e"))
    with pytest.raises(OSError, match="symbolic links"):
        no_follow.open_beneath(root, "link")


CHANGE_MODE = {"in one call": no_follow.change_mode, "by steps": no_follow.change_mode_in_steps}


@pytest.mark.parametrize("change_mode", CHANGE_MODE.values(), ids=CHANGE_MODE)
def test_the_mode_of_a_file_not_of_what_a_link_leads_to(
    tmp_path: Path, root: int, change_mode: Callable[[int, str, int], None]
) -> None:
    before = (tmp_path / "d").stat().st_mode
    change_mode(root, "d/file", 0o751)
    assert stat.S_IMODE((tmp_path / "d" / "file").stat().st_mode) == 0o751
    with pytest.raises(OSError, match="not supported"):
        change_mode(root, "link", 0o700)
    with pytest.raises(FileNotFoundError):
        change_mode(root, "none", 0o700)
    assert (tmp_path / "d").stat().st_mode == before


def test_a_directory_is_made_with_an_exact_mode_or_taken_as_it_is(
    tmp_path: Path, root: int
) -> None:
    before = os.umask(0o077)
    try:
        for name in ("new", "d"):
            os.close(no_follow.make_directory(root, name, 0o2775))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o2775
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) & 0o2000 == 0


@pytest.mark.parametrize("name", ["link", "dangling", "d/file"])
def test_no_directory_is_made_through_anything_else(root: int, name: str) -> None:
    with pytest.raises(NotADirectoryError):
        no_follow.make_directory(root, name, 0o755)


def test_a_mount_is_entered_or_refused() -> None:
    top = os.open("/", os.O_PATH)
    try:
        os.close(no_follow.open_directory(top, "proc"))
        with pytest.raises(OSError, match="cross-device link"):
            no_follow.open_directory_at_once(top, "proc")
    finally:
        os.close(top)
