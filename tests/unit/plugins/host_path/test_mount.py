"""hostPath: every type against every kind of path."""

import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.model.kubernetes_version import V1_35, V1_37
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import HostPathSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attributes, VolumeError
from mooring.plugins.host_path.mount import HostPath, check
from tests.unit.plugins.world import a_pod, a_request, inline, picture_of

FINE = "fine"
MAKES = "makes it"
DIRECTORY, FILE = "directory", "file"
SOCKET, CHAR, BLOCK = "socket file", "character device", "block device"


def _missing(path: Path) -> Path:
    return path


def _directory(path: Path) -> Path:
    path.mkdir()
    return path


def _file(path: Path) -> Path:
    path.touch()
    return path


def _socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # the name of a socket may not be long
    return path


def _char_device(_: Path) -> Path:
    return Path(os.devnull)


def _block_device(_: Path) -> Path:
    for path in Path("/dev").iterdir():
        if stat.S_ISBLK(path.lstat().st_mode):
            return path
    pytest.skip("there is no block device below /dev")


def _fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _dangling(path: Path) -> Path:
    path.symlink_to(path.with_name("target"))
    return path


STATES: dict[str, Callable[[Path], Path]] = {
    "missing": _missing,
    "directory": _directory,
    "file": _file,
    "socket": _socket,
    "character device": _char_device,
    "block device": _block_device,
    "fifo": _fifo,
    "dangling link": _dangling,
}

GRID: dict[str, tuple[str, ...]] = {
    "": (FINE,) * 8,
    "DirectoryOrCreate": (MAKES, FINE, *(DIRECTORY,) * 5, FINE),
    "Directory": (DIRECTORY, FINE, *(DIRECTORY,) * 6),
    "FileOrCreate": (MAKES, FILE, FINE, *(FILE,) * 4, MAKES),
    "File": (FILE, FILE, FINE, *(FILE,) * 5),
    "Socket": (*(SOCKET,) * 3, FINE, *(SOCKET,) * 4),
    "CharDevice": (*(CHAR,) * 4, FINE, *(CHAR,) * 3),
    "BlockDevice": (*(BLOCK,) * 5, FINE, *(BLOCK,) * 2),
}
ROWS = {
    f"{path_type or 'no type'} on a {state}": (path_type, make, verdict)
    for path_type, verdicts in GRID.items()
    for (state, make), verdict in zip(STATES.items(), verdicts, strict=True)
}


@pytest.mark.parametrize(("path_type", "make", "verdict"), ROWS.values(), ids=[*ROWS])
def test_grid(tmp_path: Path, path_type: str, make: Callable[[Path], Path], verdict: str) -> None:
    path = make(tmp_path / "it")
    before = picture_of(tmp_path)
    if verdict in (FINE, MAKES):
        check(path, path_type)
    else:
        with pytest.raises(VolumeError) as refused:
            check(path, path_type, V1_35)
        assert str(refused.value) == f"hostPath type check failed: {path} is not a {verdict}"
    has_changed = picture_of(tmp_path) != before
    assert has_changed == (verdict == MAKES)
    if verdict == MAKES:
        assert path.exists()


FOUND = {
    "a file": (_file, "failed: {} is not a directory, it's a File"),
    "a socket": (_socket, "failed: {} is not a directory, it's a Socket"),
    "a character device": (_char_device, "failed: {} is not a directory, it's a CharDevice"),
    "a block device": (_block_device, "failed: {} is not a directory, it's a BlockDevice"),
    "nothing": (
        _missing,
        'failed, {0} is not a directory, unable to determine its type: path "{0}" does not exist',
    ),
    "a fifo": (
        _fifo,
        "failed, {} is not a directory, unable to determine its type: only recognise file, "
        "directory, socket, block device and character device",
    ),
}


@pytest.mark.parametrize(("make", "words"), FOUND.values(), ids=FOUND)
def test_what_was_found_is_told_since_1_37(
    tmp_path: Path, make: Callable[[Path], Path], words: str
) -> None:
    path = make(tmp_path / "it")
    with pytest.raises(VolumeError) as refused:
        check(path, "Directory", V1_37)
    assert str(refused.value) == f"hostPath type check {words.format(path)}"


@pytest.mark.parametrize("make", STATES.values(), ids=[*STATES])
def test_an_unknown_type_is_refused_whatever_is_there(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    with pytest.raises(VolumeError) as refused:
        check(make(tmp_path / "it"), "Folder")
    assert str(refused.value) == "Folder is an invalid volume type"


@pytest.fixture
def umask_022() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask_022")
def test_a_directory_is_made_with_all_above_it(tmp_path: Path) -> None:
    check(tmp_path / "a" / "b" / "c", "DirectoryOrCreate")
    assert picture_of(tmp_path) == [
        ("a", "drwxr-xr-x", ""),
        ("a/b", "drwxr-xr-x", ""),
        ("a/b/c", "drwxr-xr-x", ""),
    ]


@pytest.mark.usefixtures("umask_022")
def test_a_file_is_made_empty_but_nothing_above_it(tmp_path: Path) -> None:
    check(tmp_path / "log", "FileOrCreate")
    with pytest.raises(HostError):
        check(tmp_path / "missing" / "log", "FileOrCreate")
    assert picture_of(tmp_path) == [("log", "-rw-r--r--", "")]


def test_what_is_made_is_not_made_over(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("said before")
    check(path, "FileOrCreate")
    assert path.read_text() == "said before"


def test_types_are_seen_through_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    check(tmp_path / "link", "Directory")
    with pytest.raises(VolumeError, match="is not a file"):
        check(tmp_path / "link", "File")


def test_a_way_up_is_refused_even_without_a_type() -> None:
    with pytest.raises(VolumeError) as refused:
        check(Path("/data/../etc"), "")
    assert str(refused.value) == "invalid HostPath `/data/../etc`: must not contain '..'"


def group_of(path: Path) -> int:
    return path.stat().st_gid


def a_persistent(path: str, *, read_only: bool) -> VolumeUse:
    spec = VolumeSpec(host_path=HostPathSource(path))
    volume = Volume(metadata=ObjectMeta(name="pv1"), spec=spec)
    return VolumeUse(volume=volume, read_only=read_only)


def test_the_path_of_the_volume_is_the_path_on_the_host(tmp_path: Path) -> None:
    use = inline(PodVolume(name="logs", host_path=HostPathSource(str(tmp_path))))
    mounter = HostPath().mounter(use, a_pod())
    assert mounter.path == tmp_path
    assert mounter.attributes == Attributes()
    assert HostPath().volume_name(use) == str(tmp_path)


def test_a_claim_may_ask_for_it_read_only() -> None:
    mounter = HostPath().mounter(a_persistent("/data", read_only=True), a_pod())
    assert mounter.attributes == Attributes(read_only=True)


async def test_nothing_on_the_host_is_removed_with_the_pod(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    use = inline(PodVolume(name="logs", host_path=HostPathSource(str(tmp_path), "Directory")))
    mounter = HostPath().mounter(use, a_pod())
    await mounter.set_up(a_request(fs_group=1234))
    assert await mounter.usage() is None
    await HostPath().unmounter("logs", a_pod().uid).tear_down()
    assert (tmp_path / "precious").exists()
    assert group_of(tmp_path) != 1234


def test_the_rebuilt_volume_has_its_name_for_a_path() -> None:
    rebuilt = HostPath().rebuild("logs", "u1")
    assert HostPath().volume_name(rebuilt) == "logs"


def test_another_volume_has_no_path() -> None:
    with pytest.raises(VolumeError, match="does not reference an HostPath volume type"):
        HostPath().volume_name(inline(PodVolume(name="x")))
