"""What a container gets to see of its pod's volumes, and in which words it is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import HostError, MooringError
from mooring.model.container import Container
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.pod_volume import (
    EmptyDirSource,
    ImageSource,
    PodVolume,
    VolumeDevice,
    VolumeMount,
)
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import PodMount, PodState
from mooring.node.mount_list import (
    ContainerDevice,
    ContainerMount,
    ContainerVolumes,
    Propagation,
    Sight,
    list_volumes,
)
from mooring.plugins.contract import Attributes, BlockMapper, Mounter, MountRequest, Usage
from mooring.plugins.image import ImageMount
from mooring.plugins.layout import Layout
from tests.fakes.mounts import FakeMounts
from tests.fakes.plugins import Backend, FakeMapper

UID = "p1"
PLAIN = Attributes()


class Files:
    """A `Mounter` of a directory that is there."""

    def __init__(self, path: Path, attributes: Attributes) -> None:
        self.path = path
        self.attributes = attributes

    async def set_up(self, request: MountRequest) -> None:
        raise AssertionError("it is set up")

    async def usage(self) -> Usage | None:
        return None


class World:
    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.mounts = FakeMounts()
        self.files = self.layout.volume(UID, "kubernetes.io/empty-dir", "inner")
        self.files.mkdir(parents=True)
        self.link = self.layout.device_link(UID, "example.com/disk", "pv")
        self.reach: dict[str, PodMount] = {}

    def have(self, name: str = "data", attributes: Attributes = PLAIN) -> None:
        use = VolumeUse(inline=PodVolume(name="inner", empty_dir=EmptyDirSource()))
        self._put(name, use, Files(self.files, attributes))

    def have_image(self, name: str = "data") -> None:
        image = PodVolume(name="inner", image=ImageSource("registry/image:1", "Always"))
        self._put(name, VolumeUse(inline=image), ImageMount())

    def have_device(self, name: str = "disk", *, read_only: bool = False) -> None:
        volume = Volume(
            metadata=ObjectMeta(name="pv"), spec=VolumeSpec(volume_mode=VolumeMode.BLOCK)
        )
        mapper = FakeMapper(Backend(), self.layout.root, self.link, Path("/dev/sdb"))
        self._put(name, VolumeUse(volume=volume, read_only=read_only), mapper)
        self.link.parent.mkdir(parents=True, exist_ok=True)
        self.link.symlink_to("/dev/sdb")

    def have_nothing(self, name: str = "data") -> None:
        """It is mounted, but how to get at it was never found out."""
        self._put(name, VolumeUse(inline=PodVolume(name="inner")), None)

    def _put(self, name: str, use: VolumeUse, reach: Mounter | BlockMapper | None) -> None:
        self.reach[name] = PodMount(UID, use, PodState.MOUNTED, reach)

    async def list(
        self,
        *mounts: VolumeMount,
        devices: tuple[VolumeDevice, ...] = (),
        environment: Mapping[str, str] | None = None,
        can: bool = False,
    ) -> ContainerVolumes:
        container = Container("main", volume_mounts=mounts, volume_devices=devices)
        pod = Pod(metadata=ObjectMeta(name="web", namespace="default", uid=UID))
        sight = Sight(pod, container, self.reach, environment or {}, can_be_read_only_below=can)
        return await list_volumes(self.layout, self.mounts, sight)

    async def only(self, wish: VolumeMount, **options: Any) -> ContainerMount:
        (mount,) = (await self.list(wish, **options)).mounts
        return mount

    async def refused(self, *mounts: VolumeMount, **options: Any) -> str:
        with pytest.raises(MooringError) as refusal:
            await self.list(*mounts, **options)
        return str(refusal.value)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def a_mount(path: str = "/data", **fields: Any) -> VolumeMount:
    return VolumeMount("data", path, **fields)


async def test_a_volume_as_it_is(world: World) -> None:
    world.have()
    assert await world.only(a_mount()) == ContainerMount("data", "/data", world.files)


async def test_a_volume_may_be_mounted_twice(world: World) -> None:
    world.have()
    listed = await world.list(a_mount(), a_mount("/again", read_only=True))
    assert [(one.container_path, one.read_only) for one in listed.mounts] == [
        ("/data", False),
        ("/again", True),
    ]


@pytest.mark.parametrize(
    ("asked", "volume", "told"),
    [
        pytest.param(False, False, False, id="nobody asks"),
        pytest.param(True, False, True, id="the container asks"),
        pytest.param(False, True, True, id="the claim is read-only, the mount is not"),
    ],
)
async def test_read_only(world: World, *, asked: bool, volume: bool, told: bool) -> None:
    world.have(attributes=Attributes(read_only=volume))
    assert (await world.only(a_mount(read_only=asked))).read_only is told


@pytest.mark.parametrize(
    ("attributes", "relabel"),
    [
        (Attributes(is_managed=True, wants_relabel=True), True),
        (Attributes(is_managed=True), False),
        (Attributes(wants_relabel=True), False),
    ],
)
async def test_relabelling_needs_both(
    world: World, attributes: Attributes, *, relabel: bool
) -> None:
    world.have(attributes=attributes)
    assert (await world.only(a_mount())).relabel is relabel


@pytest.mark.parametrize(
    ("written", "propagation"),
    [
        (None, Propagation.PRIVATE),
        ("None", Propagation.PRIVATE),
        ("HostToContainer", Propagation.HOST_TO_CONTAINER),
        ("Bidirectional", Propagation.BIDIRECTIONAL),
    ],
)
async def test_propagation(world: World, written: str | None, propagation: Propagation) -> None:
    world.have()
    assert (await world.only(a_mount(mount_propagation=written))).propagation is propagation


@pytest.mark.parametrize(
    ("path", "inside"), [("/a//b/", "/a//b/"), ("a/b", "/a/b"), ("./a/../b", "/b")]
)
async def test_a_relative_path_in_the_container_is_made_absolute(
    world: World, path: str, inside: str
) -> None:
    world.have()
    assert (await world.only(a_mount(path))).container_path == inside


@pytest.mark.parametrize(
    ("fields", "can", "told"),
    [
        pytest.param({}, True, False, id="not asked for"),
        pytest.param({"recursive_read_only": "Disabled"}, True, False, id="disabled"),
        pytest.param(
            {"recursive_read_only": "IfPossible", "read_only": True},
            True,
            True,
            id="if possible, and it is",
        ),
        pytest.param(
            {"recursive_read_only": "IfPossible", "read_only": True},
            False,
            False,
            id="if possible, and it is not: plainly read-only",
        ),
        pytest.param(
            {"recursive_read_only": "Enabled", "read_only": True, "mount_propagation": "None"},
            True,
            True,
            id="enabled",
        ),
    ],
)
async def test_recursive_read_only(
    world: World, fields: dict[str, Any], *, can: bool, told: bool
) -> None:
    world.have()
    listed = await world.only(a_mount(**fields), can=can)
    assert listed.recursive_read_only is told
    assert listed.read_only is fields.get("read_only", False)


UNRESOLVED = "failed to resolve recursive read-only mode: "
ASKED = f'{UNRESOLVED}volume "data" requested recursive read-only mode'


@pytest.mark.parametrize(
    ("fields", "can", "text"),
    [
        pytest.param(
            {"mount_propagation": "Sideways"},
            True,
            'invalid MountPropagation mode: "Sideways"',
            id="an unknown propagation",
        ),
        pytest.param(
            {"recursive_read_only": "Enabled"},
            True,
            f"{ASKED}, but it is not read-only",
            id="without readOnly",
        ),
        pytest.param(
            {
                "recursive_read_only": "IfPossible",
                "read_only": True,
                "mount_propagation": "HostToContainer",
            },
            True,
            f'{ASKED}, but it is not compatible with propagation "HostToContainer"',
            id="with propagation",
        ),
        pytest.param(
            {"recursive_read_only": "Enabled", "read_only": True},
            False,
            f"{ASKED}, but it is not supported by the runtime",
            id="a runtime that cannot",
        ),
        pytest.param(
            {"recursive_read_only": "Perhaps", "read_only": True},
            True,
            f'{UNRESOLVED}unknown recursive read-only mode "Perhaps"',
            id="an unknown mode",
        ),
        pytest.param(
            {"sub_path": "/a"},
            True,
            "error SubPath `/a` must not be an absolute path",
            id="an absolute subPath",
        ),
        pytest.param(
            {"sub_path": "../a"},
            True,
            "unable to provision SubPath `../a`: must not contain '..'",
            id="a subPath above the volume",
        ),
        pytest.param(
            {"sub_path": "a/../b"},
            True,
            "unable to provision SubPath `a/../b`: must not contain '..'",
            id="a subPath that goes back",
        ),
        pytest.param(
            {"sub_path_expr": "$(B)/$(A)/$(SET)"},
            True,
            "missing value for A, B",
            id="a subPathExpr with variables that are not set",
        ),
        pytest.param(
            {"sub_path_expr": "$(UP)/a"},
            True,
            "unable to provision SubPath `../a`: must not contain '..'",
            id="a subPathExpr that becomes a bad subPath",
        ),
    ],
)
async def test_refusals(world: World, fields: dict[str, Any], *, can: bool, text: str) -> None:
    world.have()
    environment = {"SET": "value", "UP": ".."}
    assert await world.refused(a_mount(**fields), can=can, environment=environment) == text


async def test_a_volume_that_is_not_mounted(world: World) -> None:
    text = 'cannot find volume "data" to mount into container "main"'
    assert await world.refused(a_mount()) == text
    world.have_nothing()
    assert await world.refused(a_mount()) == text
    world.have_device("data")
    assert await world.refused(a_mount()) == text


class TestSubPath:
    async def test_dots_within_a_name_are_a_name(self, world: World) -> None:
        world.have()
        listed = await world.only(a_mount(sub_path="a..b"))
        target = world.layout.subpath(UID, "inner", "main", 0)
        assert listed.host_path == target
        assert world.mounts.mounted() == (target,)
        assert (world.files / "a..b").is_dir()

    async def test_a_missing_one_gets_the_mode_of_the_root(self, world: World) -> None:
        world.have()
        world.files.chmod(0o2770)
        await world.only(a_mount(sub_path="a/b"))
        assert (world.files / "a").stat().st_mode & 0o7777 == 0o2770
        assert (world.files / "a/b").stat().st_mode & 0o7777 == 0o2770

    async def test_a_link_out_of_the_volume_is_refused_without_details(self, world: World) -> None:
        world.have()
        (world.files / "out").symlink_to("/")
        text = 'failed to prepare subPath for volumeMount "data" of container "main"'
        assert await world.refused(a_mount(sub_path="out/etc")) == text
        assert world.mounts.mounted() == ()

    async def test_an_expression_is_expanded(self, world: World) -> None:
        world.have()
        environment = {"POD": "web-0"}
        await world.only(a_mount(sub_path_expr="logs/$(POD)"), environment=environment)
        assert (world.files / "logs/web-0").is_dir()

    async def test_a_container_started_again_gets_the_same_mount(self, world: World) -> None:
        world.have()
        wishes = (a_mount(), a_mount("/part", sub_path="part"))
        first = await world.list(*wishes)
        assert first.mounts[1].host_path == world.layout.subpath(UID, "inner", "main", 1)
        before = world.mounts.mounted()
        assert await world.list(*wishes) == first
        assert world.mounts.mounted() == before

    async def test_what_cannot_be_bound_fails_the_container(self, world: World) -> None:
        world.have()
        world.mounts.fail_at(1)
        with pytest.raises(HostError, match="failed to prepare subPath"):
            await world.only(a_mount(sub_path="part"))


class TestImage:
    async def test_the_runtime_gets_the_reference(self, world: World) -> None:
        world.have_image()
        listed = await world.only(a_mount(sub_path="etc"))
        assert listed.host_path is None
        assert listed.image == ImageSource("registry/image:1", "Always")
        assert listed.image_sub_path == "etc"
        assert listed.read_only

    async def test_the_rules_for_a_sub_path_hold_all_the_same(self, world: World) -> None:
        world.have_image()
        text = await world.refused(a_mount(sub_path="/etc"))
        assert text == "error SubPath `/etc` must not be an absolute path"


class TestDevices:
    @pytest.mark.parametrize(("read_only", "permissions"), [(False, "mrw"), (True, "r")])
    async def test_a_read_only_device_may_not_be_written(
        self, world: World, *, read_only: bool, permissions: str
    ) -> None:
        world.have_device(read_only=read_only)
        listed = await world.list(devices=(VolumeDevice("disk", "/dev/xvda"),))
        assert listed.devices == (ContainerDevice(world.link, "/dev/xvda", permissions),)

    async def test_a_link_that_is_not_there_leaves_the_device_out(self, world: World) -> None:
        world.have_device()
        world.link.unlink()
        assert (await world.list(devices=(VolumeDevice("disk", "/dev/xvda"),))).devices == ()

    async def test_a_relative_path(self, world: World) -> None:
        world.have_device()
        text = await world.refused(devices=(VolumeDevice("disk", "dev/xvda"),))
        assert text == "error DevicePath `dev/xvda` must be an absolute path"

    async def test_a_device_that_is_not_mapped(self, world: World) -> None:
        world.have()
        text = 'cannot find volume "{}" to pass into container "main"'
        for name in ("data", "disk"):
            wish = VolumeDevice(name, "/dev/xvda")
            assert await world.refused(devices=(wish,)) == text.format(name)
