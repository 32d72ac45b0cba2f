"""Files that the node writes: before, during and after something goes wrong."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import HostError
from mooring.host import ownership
from mooring.host.atomic_dir import FileContent
from mooring.model.pod import Pod
from mooring.model.pod_volume import VolumeMount
from mooring.plugins.contract import Attributes, MountRequest, Uncertain
from mooring.plugins.empty_dir import ScratchDirectory, wrapped_scratch
from mooring.plugins.medium import ON_DISK, InMemory, Medium
from mooring.plugins.payload import Files, Incomplete
from mooring.plugins.volume_host import Host
from mooring.plugins.written import WrittenMounter
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.world import POD_UID, a_container, a_pod, a_request

PLUGIN = "kubernetes.io/anything"
VOLUME = "files"


class Written:
    """A volume whose files a test decides on."""

    def __init__(self, host: Host, medium: Medium = ON_DISK, pod: Pod | None = None) -> None:
        self.files: Files | Incomplete = {}
        self.scratch: ScratchDirectory = wrapped_scratch(host, PLUGIN, VOLUME, POD_UID)
        self.path = self.scratch.path
        self.pod_directory = host.layout.pod(POD_UID)
        self.mounter = WrittenMounter(self.scratch, medium, VOLUME, pod or a_pod(), self._gather)

    async def write(self, files: Mapping[str, str], mode: int = 0o644) -> None:
        self.files = {path: FileContent(text.encode(), mode) for path, text in files.items()}
        await self.mounter.set_up(a_request())

    def seen(self) -> dict[str, str]:
        """What a container sees, by path."""
        found = {}
        for folder, _, names in os.walk(self.path, followlinks=True):
            if ".." not in str(Path(folder).relative_to(self.path)):
                for name in names:
                    path = Path(folder, name)
                    found[str(path.relative_to(self.path))] = path.read_text()
        return found

    def generation(self) -> str:
        return os.readlink(self.path / "..data")

    async def _gather(self, _: MountRequest) -> Files:
        if isinstance(self.files, Incomplete):
            raise self.files
        return self.files


FOLLOWED = {
    "a key is added": {"a": "1", "b": "2", "c": "3"},
    "a value changes": {"a": "1", "b": "new"},
    "a key is removed": {"a": "1"},
    "all at a time": {"b": "new", "deep/er/c": "3"},
    "nothing is left": {},
}


@pytest.mark.parametrize("then", FOLLOWED.values(), ids=[*FOLLOWED])
async def test_files_follow_in_one_step(host: Host, then: Mapping[str, str]) -> None:
    volume = Written(host)
    await volume.write({"a": "1", "b": "2"})
    before = volume.generation()
    await volume.write(then)
    assert volume.seen() == then
    assert volume.generation() != before
    assert [name for name in os.listdir(volume.path) if name.startswith("..2")] == [
        volume.generation()
    ]


async def test_links_that_were_never_made_are_made_without_writing_anew(host: Host) -> None:
    volume = Written(host)
    await volume.write({"a": "1", "b": "2"})
    before = volume.generation()
    (volume.path / "b").unlink()
    await volume.write({"a": "1", "b": "2"})
    assert volume.seen() == {"a": "1", "b": "2"}
    assert volume.generation() == before


async def test_a_switch_that_never_came_is_no_hindrance(host: Host) -> None:
    volume = Written(host)
    await volume.write({"a": "1"})
    (volume.path / "..data_tmp").symlink_to("..2020_01_01_00_00_00.1")
    await volume.write({"a": "2"})
    assert volume.seen() == {"a": "2"}


async def test_a_mode_alone_is_no_reason_to_write(host: Host) -> None:
    volume = Written(host)
    await volume.write({"a": "1"}, 0o644)
    before = volume.generation()
    await volume.write({"a": "1"}, 0o600)
    assert volume.generation() == before
    assert (volume.path / "a").stat().st_mode & 0o777 == 0o644


HOSTILE = {
    "begins with two dots": ("..x", "must not start with '..': ..x"),
    "goes up": ("a/../b", "must not contain '..': a/../b"),
    "goes up and out": ("../../etc/passwd", "must not contain '..': ../../etc/passwd"),
    "absolute": ("/a", "must be relative path: /a"),
    "a name of 256 bytes": (
        "a" * 256,
        "filenames must be less than or equal to 255 characters",
    ),
    "a path of 4097 bytes": (
        "a/" * 2048 + "a",
        "must be less than or equal to 4096 characters",
    ),
    "empty": ("", 'must not be empty: ""'),
    "two dots in disguise": ("./..data", "must not start with '..': ..data"),
}


@pytest.mark.parametrize(("path", "text"), HOSTILE.values(), ids=[*HOSTILE])
async def test_hostile_paths_touch_nothing(host: Host, path: str, text: str) -> None:
    with pytest.raises(HostError) as refused:
        await Written(host).write({"good": "1", path: "2"})
    assert str(refused.value) == f"invalid path: {text}"
    assert not host.layout.root.exists()


async def test_a_hostile_path_leaves_files_in_use_alone(host: Host) -> None:
    volume = Written(host)
    await volume.write({"a": "1"})
    with pytest.raises(HostError):
        await volume.write({"a": "2", "..x": "2"})
    assert volume.seen() == {"a": "1"}


def mounting(**places: str) -> Pod:
    """A pod whose one container mounts volumes, by name."""
    mounted = tuple(VolumeMount(name, path) for name, path in places.items())
    return a_pod(replace(a_container(), volume_mounts=mounted))


async def test_places_to_mount_other_volumes_are_there_before_the_container(
    host: Host,
) -> None:
    volume = Written(host, pod=mounting(files="/a", other="/a/b/c"))
    await volume.write({"x": "1"})
    assert (volume.path / "b" / "c").is_dir()
    assert (volume.path / "b" / "c").stat().st_mode & 0o777 == 0o755
    assert volume.seen() == {"x": "1"}


async def test_a_mount_path_outside_the_container_touches_nothing(host: Host) -> None:
    volume = Written(host, pod=mounting(files="../a", other="../a/b"))
    with pytest.raises(HostError, match=r"invalid container mount point \.\./a"):
        await volume.write({"x": "1"})
    assert not host.layout.root.exists()


async def test_a_mount_over_what_the_node_keeps_there_is_refused_and_leaves_nothing(
    host: Host,
) -> None:
    volume = Written(host, pod=mounting(files="/a", other="/a/..data/b"))
    with pytest.raises(HostError):
        await volume.write({"x": "1"})
    assert not volume.path.exists()


async def test_files_that_cannot_be_had_touch_nothing(host: Host) -> None:
    volume = Written(host)
    volume.files = Incomplete(["gone"])
    with pytest.raises(Incomplete):
        await volume.mounter.set_up(a_request())
    assert not host.layout.root.exists()


async def test_files_that_cannot_be_had_any_more_stay(host: Host) -> None:
    volume = Written(host)
    await volume.write({"a": "1"})
    volume.files = Incomplete(["gone"])
    with pytest.raises(Incomplete):
        await volume.mounter.set_up(a_request())
    assert volume.seen() == {"a": "1"}


@pytest.fixture
def refused_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every walk over a volume fails."""

    def apply(directory: Path, *_: object) -> None:
        raise HostError(f"setting volume ownership for {directory}: refused")

    monkeypatch.setattr(ownership, "apply", apply)


@pytest.mark.usefixtures("refused_owners")
@pytest.mark.parametrize("medium", [ON_DISK, InMemory()], ids=["on disk", "in memory"])
async def test_a_first_write_that_fails_leaves_nothing(
    host: Host, mounts: FakeMounts, medium: Medium
) -> None:
    volume = Written(host, medium)
    volume.files = {"a": FileContent(b"1", 0o644)}
    with pytest.raises(HostError, match="setting volume ownership"):
        await volume.mounter.set_up(a_request(fs_group=2000))
    assert not volume.path.exists()
    assert not [path for path in volume.pod_directory.rglob("*") if path.is_file()]
    assert mounts.mounted() == ()


@pytest.mark.usefixtures("refused_owners")
async def test_a_later_write_that_fails_leaves_the_files_that_are_in_use(host: Host) -> None:
    volume = Written(host)
    await volume.write({"a": "1"})
    before = sorted(os.listdir(volume.path))
    volume.files = {"a": FileContent(b"2", 0o644)}
    with pytest.raises(HostError, match="setting volume ownership"):
        await volume.mounter.set_up(a_request(fs_group=2000))
    assert volume.seen() == {"a": "1"}
    assert sorted(os.listdir(volume.path)) == before


@pytest.mark.usefixtures("refused_owners")
async def test_a_first_write_that_cannot_be_undone_is_uncertain(
    host: Host, mounts: FakeMounts
) -> None:
    volume = Written(host, InMemory())
    mounts.keep_busy(volume.path)
    with pytest.raises(Uncertain, match=r"setting volume ownership .*; and unmount failed"):
        await volume.mounter.set_up(a_request(fs_group=2000))
    assert mounts.mounted() == (volume.path,)


async def test_usage_is_counted_once_for_each_set_up(host: Host) -> None:
    volume = Written(host)
    await volume.write({"a": "1"})
    first = await volume.mounter.usage()
    (volume.path / "stray").write_bytes(b"x" * 100_000)
    assert await volume.mounter.usage() is first
    await volume.write({"a": "1"})
    again = await volume.mounter.usage()
    assert first is not None
    assert again is not None
    assert again.inodes_used == (first.inodes_used or 0) + 1


def test_containers_never_write_to_it(host: Host) -> None:
    attributes = Attributes(read_only=True, is_managed=True, wants_relabel=True)
    assert Written(host).mounter.attributes == attributes
