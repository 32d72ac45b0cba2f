"""After a restart: what the disk tells, and what the node's status adds to it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost
from mooring.model.node import Node
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, Attachability, DeviceState, PodState
from mooring.node.context import NodeContext
from mooring.node.disk_scan import Trace, TraceKind
from mooring.node.reconstruct import Reconstructed, confirm, reconstruct
from mooring.plugins.contract import NotStarted
from mooring.plugins.layout import Layout
from mooring.plugins.local import NAME as LOCAL
from mooring.plugins.registry import built_in
from tests.fakes.clock import settle
from tests.fakes.plugins import FakeCloudDisk, FakeDisk, FakePlugin, Outcome
from tests.unit.node.effects.world import MakePlugin, NodeWorld, a_use

EMPTY_DIR = "kubernetes.io/empty-dir"
DISK = "example.com/disk"


def a_world(root: Path, make_plugin: MakePlugin = FakeDisk) -> NodeWorld:
    return NodeWorld(root, make_plugin)


def with_built_in(world: NodeWorld) -> NodeContext:
    return replace(world.context, registry=built_in(world.context.host))


def volume(layout: Layout, uid: str, plugin: str = DISK, name: str = "pv") -> Path:
    path = layout.volume(uid, plugin, name)
    path.mkdir(parents=True, exist_ok=True)
    return path


def link(layout: Layout, uid: str, plugin: str = DISK, name: str = "pv") -> Path:
    path = layout.device_link(uid, plugin, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/null")
    return path


def only(context: NodeContext) -> ActualVolume:
    (found,) = context.actual.volumes()
    return found


def counted(context: NodeContext) -> dict[str, float]:
    return {
        sample.name.removeprefix("reconstruct_volume_"): sample.value
        for family in context.metrics.collect()
        for sample in family.samples
        if sample.name.startswith("reconstruct_volume_")
    }


async def test_a_volume_of_a_pod_is_uncertain_in_every_respect(tmp_path: Path) -> None:
    world = a_world(tmp_path, FakeCloudDisk)
    volume(world.context.host.layout, "p1")
    reconstructed = await reconstruct(world.context)
    here = only(world.context)
    assert reconstructed == Reconstructed(frozenset({f"{DISK}/pv"}), ())
    assert here.name == f"{DISK}/pv"
    assert (here.attachability, here.device) == (Attachability.UNCERTAIN, DeviceState.UNCERTAIN)
    assert here.device_path == ""
    assert {uid: mount.state for uid, mount in here.pods.items()} == {"p1": PodState.UNCERTAIN}
    assert here.device_needs_tear_down
    assert here.pods["p1"].needs_tear_down
    assert counted(world.context)["operations_total"] == 1
    assert counted(world.context)["operations_errors_total"] == 0


async def test_set_up_again_it_is_mounted_and_nothing_is_torn_down(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        volume(world.context.host.layout, "p1")
        await reconstruct(world.context)
        world.want("p1", a_use())
        await world.settle()
        assert world.here().pods["p1"].state is PodState.MOUNTED
        assert world.backend.calls == ["mount_device pv", "set_up pv p1"]


async def test_two_pods_gone_are_torn_down_and_then_the_device(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        for uid in ("p1", "p2"):
            volume(world.context.host.layout, uid)
        await reconstruct(world.context)
        await world.settle()
        calls = world.backend.calls
        assert sorted(calls[:2]) == ["tear_down pv p1", "tear_down pv p2"]
        assert calls[2:] == ["unmount_device pv"]
        assert not list(world.context.actual.volumes())


async def test_with_the_api_down_attachments_stay_uncertain_until_it_answers(
    tmp_path: Path,
) -> None:
    world = a_world(tmp_path, FakeCloudDisk)
    volume(world.context.host.layout, "p1")
    answers: list[Exception] = [ConnectionLost("refused"), ConnectionLost("refused")]
    read = world.own_node.read

    async def unreliable() -> Node:
        if answers:
            raise answers.pop()
        return await read()

    world.own_node.read = unreliable  # type: ignore[method-assign]  # the API, as it is today
    world.own_node.status, world.own_node.in_use = {f"{DISK}/pv": "/dev/sdb"}, (f"{DISK}/pv",)
    reconstructed = await reconstruct(world.context)
    asking = asyncio.ensure_future(confirm(world.context, reconstructed))
    await settle()
    assert not asking.done()
    assert only(world.context).attachability is Attachability.UNCERTAIN
    await world.clock.advance(10)
    await asking
    assert only(world.context).attachability is Attachability.YES
    assert only(world.context).device_path == "/dev/sdb"


async def test_a_set_up_that_fails_for_good_leaves_it_uncertain(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        volume(world.context.host.layout, "p1")
        await reconstruct(world.context)
        world.want("p1", a_use())
        world.backend.script("set_up", Outcome.FINAL)
        await world.once()
        assert world.here().pods["p1"].state is PodState.UNCERTAIN
        world.drop("p1")
        await world.settle()
        assert "tear_down pv p1" in world.backend.calls


@pytest.mark.parametrize(
    ("status", "in_use", "attachability", "device"),
    [
        pytest.param({}, ["pv"], Attachability.UNCERTAIN, "", id="not in volumesAttached"),
        pytest.param({}, [], Attachability.UNCERTAIN, "", id="in neither list"),
        pytest.param(
            {"pv": "/dev/sdb"}, ["pv"], Attachability.YES, "/dev/sdb", id="in volumesAttached"
        ),
        pytest.param(
            {"pv": "/dev/sdb"},
            [],
            Attachability.UNCERTAIN,
            "/dev/sdb",
            id="in volumesAttached, and about to be detached",
        ),
        pytest.param(
            {"other": "/dev/sdc"},
            ["pv"],
            Attachability.UNCERTAIN,
            "",
            id="another volume in volumesAttached",
        ),
    ],
)
async def test_what_the_node_status_adds(
    tmp_path: Path,
    status: dict[str, str],
    in_use: list[str],
    attachability: Attachability,
    device: str,
) -> None:
    world = a_world(tmp_path, FakeCloudDisk)
    volume(world.context.host.layout, "p1")
    world.own_node.status = {f"{DISK}/{name}": path for name, path in status.items()}
    world.own_node.in_use = tuple(f"{DISK}/{name}" for name in in_use)
    await confirm(world.context, await reconstruct(world.context))
    assert only(world.context).attachability is attachability
    assert only(world.context).device_path == device


async def test_what_need_not_be_attached_asks_nobody(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    volume(world.context.host.layout, "p1")

    async def nobody() -> Node:
        raise AssertionError("asked")

    world.own_node.read = nobody  # type: ignore[method-assign]  # the API is not needed
    await confirm(world.context, await reconstruct(world.context))
    assert only(world.context).attachability is Attachability.NO


class OddCloudDisk(FakeCloudDisk):
    """Its driver says whether volumes need attaching, once it is known."""

    needs: bool | None = None

    def can_attach(self, use: VolumeUse) -> bool:
        if self.needs is None:
            raise NotStarted("no such driver yet")
        return self.needs


@pytest.mark.parametrize(
    ("needs", "listed", "attachability"),
    [
        (False, False, Attachability.NO),
        (True, False, Attachability.UNCERTAIN),
        (None, False, Attachability.UNCERTAIN),
        (False, True, Attachability.UNCERTAIN),  # it was attached once, and is not given away
    ],
)
async def test_that_a_volume_need_not_be_attached_is_for_its_driver_to_say(
    tmp_path: Path, *, needs: bool | None, listed: bool, attachability: Attachability
) -> None:
    world = a_world(tmp_path, OddCloudDisk)
    assert isinstance(world.plugin, OddCloudDisk)
    world.plugin.needs = needs
    volume(world.context.host.layout, "p1")
    world.own_node.status = {f"{DISK}/pv": ""} if listed else {}
    await confirm(world.context, await reconstruct(world.context))
    assert only(world.context).attachability is attachability


async def test_a_node_that_attaches_by_itself_stays_in_doubt(tmp_path: Path) -> None:
    world = a_world(tmp_path, FakeCloudDisk)
    volume(world.context.host.layout, "p1")
    context = replace(world.context, attaches_itself=True)
    await confirm(context, await reconstruct(context))
    assert only(context).attachability is Attachability.UNCERTAIN


Arrange = Callable[[Layout], object]


@pytest.mark.parametrize(
    ("arrange", "trace", "because"),
    [
        pytest.param(
            lambda layout: volume(layout, "p1", "example.com/gone"),
            Trace(TraceKind.FILES, "example.com/gone", "pv", "p1"),
            "no volume plugin matched name: example.com/gone",
            id="an unknown plugin",
        ),
        pytest.param(
            lambda layout: link(layout, "p1", EMPTY_DIR),
            Trace(TraceKind.BLOCK, EMPTY_DIR, "pv", "p1"),
            f"no block volume plugin matched name: {EMPTY_DIR}",
            id="a device of a plugin that has none",
        ),
        pytest.param(
            lambda layout: layout.subpath("p1", "host", "main", 0).mkdir(parents=True),
            Trace(TraceKind.PARTS, "", "host", "p1"),
            "only parts of it are there",
            id="a part of a host path, which has no directory",
        ),
    ],
)
async def test_what_makes_no_sense_is_kept(
    tmp_path: Path, arrange: Arrange, trace: Trace, because: str
) -> None:
    world = a_world(tmp_path)
    context = with_built_in(world)
    arrange(context.host.layout)
    reconstructed = await reconstruct(context)
    assert [(one.trace, one.because) for one in reconstructed.not_reconstructed] == [
        (trace, because)
    ]
    assert not list(context.actual.volumes())
    if trace.kind is not TraceKind.PARTS:
        assert counted(context)["operations_errors_total"] == 1


async def test_a_local_directory_whose_path_is_told_nowhere_is_known_by_its_pods(
    tmp_path: Path,
) -> None:
    context = with_built_in(a_world(tmp_path))
    volume(context.host.layout, "p1", LOCAL)
    assert not (await reconstruct(context)).not_reconstructed
    assert only(context).device is DeviceState.NOT_MOUNTED
    assert only(context).pods["p1"].state is PodState.UNCERTAIN


async def test_what_makes_no_sense_keeps_nothing_else_back(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    context = with_built_in(world)
    layout = context.host.layout
    volume(layout, "p1", "example.com/gone")
    volume(layout, "p1", EMPTY_DIR, "scratch")
    layout.subpath("p1", "scratch", "main", 0).mkdir(parents=True)
    (layout.pods / "stray").touch()
    reconstructed = await reconstruct(context)
    assert reconstructed.volumes == {f"{EMPTY_DIR}/p1-scratch"}
    assert len(reconstructed.not_reconstructed) == 1


async def test_no_directory_of_pods_is_a_first_start(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    assert await reconstruct(world.context) == Reconstructed(frozenset(), ())


@pytest.mark.parametrize("make_plugin", [FakePlugin, FakeDisk], ids=["its own", "shared"])
async def test_unique_names(tmp_path: Path, make_plugin: MakePlugin) -> None:
    world = a_world(tmp_path, make_plugin)
    for uid in ("p1", "p2"):
        volume(world.context.host.layout, uid, world.plugin.name)
    reconstructed = await reconstruct(world.context)
    assert reconstructed.volumes == (
        {f"{DISK}/pv"}
        if make_plugin is FakeDisk
        else {"example.com/files/p1-pv", "example.com/files/p2-pv"}
    )


class TestDevices:
    """Mounted or mapped for all pods; found even where no pod got so far, unlike upstream."""

    async def test_a_device_without_a_pod_is_found_and_taken_away(self, tmp_path: Path) -> None:
        async with a_world(tmp_path) as world:
            world.context.host.layout.global_mount(DISK, "pv").mkdir(parents=True)
            reconstructed = await reconstruct(world.context)
            assert reconstructed.volumes == {f"{DISK}/pv"}
            assert world.here().device is DeviceState.UNCERTAIN
            assert not world.here().pods
            await world.settle()
            assert world.backend.calls == ["unmount_device pv"]

    async def test_wanted_again_it_is_mounted_again(self, tmp_path: Path) -> None:
        async with a_world(tmp_path) as world:
            world.context.host.layout.global_mount(DISK, "pv").mkdir(parents=True)
            await reconstruct(world.context)
            world.want("p1", a_use())
            await world.settle()
            assert world.backend.calls == ["mount_device pv", "set_up pv p1"]

    async def test_a_device_with_a_pod_is_one_volume(self, tmp_path: Path) -> None:
        world = a_world(tmp_path)
        layout = world.context.host.layout
        volume(layout, "p1")
        layout.global_mount(DISK, "pv").mkdir(parents=True)
        await reconstruct(world.context)
        assert set(only(world.context).pods) == {"p1"}

    async def test_a_block_volume_of_a_pod(self, tmp_path: Path) -> None:
        world = a_world(tmp_path)
        link(world.context.host.layout, "p1")
        await reconstruct(world.context)
        here = only(world.context)
        assert here.use.mode is VolumeMode.BLOCK
        assert here.device is DeviceState.UNCERTAIN
        assert set(here.pods) == {"p1"}

    async def test_a_bind_without_its_link_belongs_to_its_pod(self, tmp_path: Path) -> None:
        world = a_world(tmp_path)
        directory = world.context.host.layout.global_map(DISK, "pv")
        directory.mkdir(parents=True)
        (directory / "p1").touch()
        await reconstruct(world.context)
        assert set(only(world.context).pods) == {"p1"}

    async def test_a_map_without_any_bind_is_a_device_without_pods(self, tmp_path: Path) -> None:
        async with a_world(tmp_path) as world:
            world.context.host.layout.global_map(DISK, "pv").mkdir(parents=True)
            await reconstruct(world.context)
            await world.settle()
            assert world.backend.calls == ["tear_down_device pv"]
            assert not world.context.host.layout.global_map(DISK, "pv").exists()

    async def test_the_escaped_directory_of_local_volumes(self, tmp_path: Path) -> None:
        world = a_world(tmp_path)
        context = with_built_in(world)
        directory = context.host.layout.plugins / "kubernetes.io~local-volume/volumeDevices/pv"
        directory.mkdir(parents=True)
        (directory / "p1").touch()
        await reconstruct(context)
        assert only(context).name == f"{LOCAL}/pv"
        assert only(context).device_mount_path == directory

    async def test_what_another_plugin_arranges_otherwise_is_left_to_it(
        self, tmp_path: Path
    ) -> None:
        world = a_world(tmp_path)
        layout = world.context.host.layout
        (layout.global_map("kubernetes.io/csi", "pv") / "dev").mkdir(parents=True)
        layout.global_mount("example.com/elsewhere", "pv").mkdir(parents=True)
        assert await reconstruct(world.context) == Reconstructed(frozenset(), ())


async def test_200_pods_with_3_volumes_within_the_time_for_it(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    context = with_built_in(world)
    layout = context.host.layout
    for number in range(200):
        uid = f"p{number}"
        volume(layout, uid, EMPTY_DIR, "scratch")
        volume(layout, uid, "kubernetes.io/projected", "token")
        volume(layout, uid, LOCAL, f"pv{number}")
    began = time.monotonic()
    reconstructed = await reconstruct(context)
    assert time.monotonic() - began < 2
    assert len(reconstructed.volumes) + len(reconstructed.not_reconstructed) == 600
