"""rbd: recorded commands, and a kernel whose mapped images are files."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceRequest, GrowthRequest, VolumeError
from mooring.plugins.rbd import plugin
from mooring.plugins.rbd.plugin import Rbd
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.iscsi.world import AttachedWorld
from tests.unit.plugins.rbd.world import WATCHED, FakeCeph, an_rbd_plugin, claimed
from tests.unit.plugins.world import POD_UID, a_pod

SECRET = {"name": "ceph", "namespace": "default"}
MONITORS = ("-m", "10.0.0.1:6789,10.0.0.2")


class World(AttachedWorld):
    def __init__(self, root: Path, use: VolumeUse) -> None:
        self.ceph = FakeCeph()
        self.mounts = FakeMounts()
        super().__init__(root, self.mounts, an_rbd_plugin(self.ceph), use)

    @property
    def rbd(self) -> Rbd:
        assert isinstance(self.plugin, Rbd)
        return self.plugin

    async def attach(self) -> str:
        return await self.rbd.attacher().wait_for_attach(self.use, "", a_pod())

    def keys_left(self) -> list[Path]:
        return list(self.root.rglob("keyring"))


async def test_what_is_run_for_a_volume_from_beginning_to_end(tmp_path: Path) -> None:
    world = World(tmp_path, claimed(fsType="xfs", pool="fast", user="web", keyring="/keys"))
    await world.set_up()
    as_user = ("--id", "web", *MONITORS, "-k", "/keys")
    device = "/dev/rbd0"
    assert world.ceph.calls == [
        ("rbd", "status", "disk", "--pool", "fast", *as_user),
        ("modprobe", "rbd"),
        ("rbd", "map", "fast/disk", *as_user),
    ]
    target = world.host.layout.global_mount("kubernetes.io/rbd", "fast-image-disk")
    assert (world.mounts.calls[0].source, world.mounts.calls[0].fs_type) == (device, "xfs")
    assert world.mounts.calls[0].target == target
    world.ceph.calls.clear()
    await world.tear_down()
    assert world.ceph.calls == [("rbd", "unmap", device)]
    assert not target.exists()


async def test_nobody_waits_for_a_udev_that_does_not_run(tmp_path: Path) -> None:
    world = World(tmp_path, claimed(keyring="/keys"))
    world.ceph.has_udev = False
    await world.set_up()
    as_user = ("--id", "admin", *MONITORS, "-k", "/keys")
    await world.tear_down()
    assert world.ceph.calls[-2:] == [
        ("rbd", "map", "rbd/disk", "-o", "noudev", *as_user),
        ("rbd", "unmap", "/dev/rbd0", "-o", "noudev"),
    ]


async def test_a_key_is_in_a_file_for_the_time_of_a_command_and_never_an_argument(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, claimed(secretRef=SECRET))
    await world.attach()
    assert world.ceph.keyrings == [("[client.admin]\n\tkey = AQB=\n", 0o600)] * 2
    assert not any("AQB=" in word for argv in world.ceph.calls for word in argv)
    assert world.keys_left() == []


@pytest.mark.parametrize(
    ("modes", "verbs"),
    [
        ((), ["status", "rbd", "map"]),
        ((AccessMode.ONCE,), ["status", "rbd", "map"]),
        ((AccessMode.READ_ONLY_MANY,), ["rbd", "map"]),
        ((AccessMode.ONCE, AccessMode.READ_ONLY_MANY), ["status", "rbd", "map"]),
    ],
)
async def test_only_an_image_that_is_read_by_all_may_be_mapped_elsewhere(
    tmp_path: Path, modes: tuple[AccessMode, ...], verbs: list[str]
) -> None:
    world = World(tmp_path, claimed(*modes))
    await world.attach()
    assert world.ceph.verbs() == verbs


async def test_an_image_in_use_is_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    world.ceph.statuses = [WATCHED] * 9
    assert await world.attach() == "/dev/rbd0"


async def test_an_image_that_stays_in_use_is_never_mapped(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    world.ceph.statuses = [WATCHED] * 10
    with pytest.raises(VolumeError) as refused:
        await world.attach()
    assert str(refused.value) == "rbd image rbd/disk is still being used"
    assert world.ceph.verbs() == ["status"] * 10
    assert world.leftovers() == ()


@pytest.mark.parametrize(
    ("verb", "text"),
    [
        (
            "status",
            "fail to check rbd image status with: (exit status 1), rbd output: (no monitor)",
        ),
        ("map", "rbd: map failed exit status 1, rbd output: no monitor"),
    ],
)
async def test_a_refusal_is_told_and_leaves_nothing(tmp_path: Path, verb: str, text: str) -> None:
    world = World(tmp_path, claimed(secretRef=SECRET))
    world.ceph.refuses[verb] = "no monitor"
    with pytest.raises(VolumeError) as refused:
        await world.attach()
    assert str(refused.value) == text
    assert world.leftovers() == ()


async def test_what_the_kernel_cannot_map_is_mapped_by_rbd_nbd_if_that_is_here(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, claimed(secretRef=SECRET))
    world.ceph.has_nbd = True
    world.ceph.refuses["map"] = "rbd: sysfs write failed: image uses unsupported features"
    await world.set_up()
    as_user = ("--id", "admin", *MONITORS, "-k")
    assert [argv[:-1] for argv in world.ceph.calls if "-k" in argv][1:] == [
        ("rbd", "map", "rbd/disk", *as_user),
        ("rbd-nbd", "map", "rbd/disk", *as_user),
    ]
    assert world.mounts.calls[0].source == "/dev/nbd0"
    world.ceph.calls.clear()
    await world.tear_down()
    assert world.ceph.calls == [("rbd-nbd", "unmap", "/dev/nbd0")]
    assert world.leftovers() == ()


async def test_what_rbd_nbd_cannot_map_either_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    world.ceph.has_nbd = True
    world.ceph.refuses |= {"map": "no krbd", "nbd": "no monitor"}
    with pytest.raises(VolumeError) as refused:
        await world.attach()
    assert str(refused.value) == "rbd: map failed exit status 1, rbd output: no monitor"
    assert world.leftovers() == ()


async def test_what_was_mapped_though_the_program_failed_is_not_mapped_a_second_time(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, claimed())
    world.ceph.has_nbd = True
    world.ceph.refuses["map"] = "rbd: mapping succeeded but /dev/rbd0 is not accessible"
    world.ceph.maps_all_the_same = True
    assert await world.attach() == "/dev/rbd0"
    assert world.ceph.by_nbd == []


@pytest.mark.parametrize(
    ("mode", "grown"),
    [
        (VolumeMode.FILESYSTEM, [(Path("/dev/rbd0"), Path("/global"))]),
        (VolumeMode.BLOCK, []),
    ],
)
async def test_a_file_system_grows_with_its_image_and_a_device_has_grown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: VolumeMode,
    grown: list[tuple[Path, Path]],
) -> None:
    resized: list[tuple[Path, Path]] = []
    monkeypatch.setattr(plugin, "resize", lambda device, at: resized.append((device, at)))
    world = World(tmp_path, claimed(mode=mode))
    assert world.rbd.needs_node_growth(world.use)
    request = GrowthRequest(world.use, 2 << 30, 1 << 30, "/dev/rbd0", Path("/pod"), Path("/global"))
    assert await world.rbd.grow_on_node(request)
    assert resized == grown


async def test_a_kernel_module_that_cannot_be_loaded_may_be_there_already(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    world.ceph.refuses["rbd"] = "modprobe: not found"
    assert await world.attach()


async def test_a_device_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    world.ceph.leaves_no_device = True
    with pytest.raises(VolumeError, match="Could not map image rbd/disk, Timeout after 10s"):
        await world.attach()
    assert world.leftovers() == ()


async def test_what_is_mapped_is_not_mapped_again(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    world.ceph.map("other", "disk")
    world.ceph.map("rbd", "disk")
    assert await world.attach() == "/dev/rbd1"
    assert world.ceph.calls == []


async def test_an_image_that_cannot_be_mounted_is_unmapped(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    device = await world.attach()
    world.mounts.fail_at(1)
    attacher = world.rbd.attacher()
    target = attacher.device_mount_path(world.use)
    with pytest.raises(HostError):
        await attacher.mount_device(world.use, device, target, DeviceRequest())
    assert world.ceph.mapped == []


async def test_an_image_that_is_busy_stays_and_is_not_forgotten(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    await world.set_up()
    world.ceph.refuses["unmap"] = "rbd: sysfs write failed"
    with pytest.raises(
        VolumeError, match="rbd: failed to unmap device /dev/rbd0, error exit status 1"
    ):
        await world.tear_down()
    del world.ceph.refuses["unmap"]
    await world.tear_down()
    assert world.ceph.mapped == []
    assert world.leftovers() == ()


async def test_an_image_used_as_a_device_stays_mapped_when_its_files_are_not_used_any_more(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, claimed())
    await world.set_up()
    block = claimed(mode=VolumeMode.BLOCK)
    await world.rbd.attacher().wait_for_attach(block, "", a_pod())
    await world.tear_down()
    assert world.ceph.mapped == [("rbd", "disk")]
    unmapper = world.rbd.block_unmapper("pv1", POD_UID)
    path = unmapper.global_map_path(block)
    assert path == world.host.layout.global_map("kubernetes.io/rbd", "rbd-image-disk")
    rebuilt = world.rbd.rebuild_block("rbd-image-disk", "")
    assert world.rbd.volume_name(rebuilt) == "rbd:disk"
    await unmapper.tear_down_device(path, "")
    assert world.ceph.mapped == []
    assert not path.exists()


async def test_the_directory_of_an_old_kubelet_is_kept_to(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    old = world.host.layout.plugin("kubernetes.io/rbd") / "rbd" / "rbd-image-disk"
    old.mkdir(parents=True)
    (old / "rbd.json").write_text("{}")
    assert world.rbd.attacher().device_mount_path(world.use) == old
    await world.set_up()
    await world.tear_down()
    assert not old.exists()


async def test_a_device_mount_without_a_pod_is_found_by_its_name(tmp_path: Path) -> None:
    world = World(tmp_path, claimed())
    await world.set_up()
    rebuilt = world.rbd.rebuild("rbd-image-disk", "")
    attacher = world.rbd.attacher()
    assert world.rbd.volume_name(rebuilt) == world.rbd.volume_name(world.use) == "rbd:disk"
    assert rebuilt.name == "rbd-image-disk"
    assert attacher.device_mount_path(world.use).name == rebuilt.name


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"image": "../x"}, "rbd.image '../x' must not lead to another directory"),
        ({"image": "-x"}, "rbd.image '-x' must not begin with '-'"),
        ({"pool": "a/b"}, "rbd.pool 'a/b' must not lead to another directory"),
        (
            {"pool": "a-image"},
            "rbd.pool 'a-image' must not hold '-image-' nor end with '-image':"
            " its directory would not tell it from the image",
        ),
        ({"monitors": []}, "rbd.monitors is empty"),
        ({"monitors": ["--conf=x"]}, "rbd.monitors '--conf=x' must not begin with '-'"),
        ({"user": "a]\nb"}, r"rbd.user 'a]\nb' must not hold control characters"),
        ({"keyring": "k"}, "rbd.keyring 'k' must be an absolute path"),
    ],
)
async def test_what_a_program_could_mistake_is_refused(
    tmp_path: Path, fields: dict[str, object], text: str
) -> None:
    world = World(tmp_path, claimed(**fields))  # type: ignore[arg-type]
    with pytest.raises(VolumeError) as refused:
        await world.attach()
    assert str(refused.value) == text
    assert world.ceph.calls == []
