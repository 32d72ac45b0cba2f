"""FlexVolumes on real mounts, by the example drivers."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from mooring.errors import Unformatted
from mooring.host.mount import Mounts
from mooring.model.pod_volume import PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.node.disk_scan import Trace, TraceKind, scan
from mooring.plugins.contract import DeviceRequest
from mooring.plugins.flex.attach import FlexAttacher
from mooring.plugins.flex.driver import Driver, load
from mooring.plugins.flex.plugin import AttachableFlexPlugin, flex_plugin
from mooring.plugins.flex.reply import Call
from tests.host.conftest import NeedsTool
from tests.unit.plugins.contract_suite import NewWorld, PluginContract
from tests.unit.plugins.cuts import CutMounts
from tests.unit.plugins.flex.test_options import HOSTILE
from tests.unit.plugins.world import VolumeWorld, a_host, a_pod, a_request, inline

EXAMPLES = Path(__file__).parents[2] / "examples" / "flexvolume"
TMPFS, IMAGE = "example.com/tmpfs", "example.com/image"


def a_use(driver: str, **source: object) -> VolumeUse:
    return inline(PodVolume(name="data", flex_volume={"driver": driver, **source}))


class TestTmpfs(PluginContract):
    @pytest.fixture
    async def new_world(self, place: Path) -> NewWorld:
        driver = await load(TMPFS, EXAMPLES / "example.com~tmpfs" / "tmpfs")
        numbers = count()

        def make() -> tuple[VolumeWorld, CutMounts]:
            root = place / str(next(numbers))
            root.mkdir()
            mounts = CutMounts(Mounts())
            use = a_use(TMPFS)
            return VolumeWorld(root, mounts, lambda host: flex_plugin(driver, host), use), mounts

        return make


async def test_hostile_options_reach_a_real_mount_as_data(place: Path) -> None:
    driver = await load(TMPFS, EXAMPLES / "example.com~tmpfs" / "tmpfs")
    host = a_host(place, Mounts())
    plugin = flex_plugin(driver, host)
    mounter = plugin.mounter(a_use(TMPFS, options={**HOSTILE, "sizeMi": "1,exec"}), a_pod())
    await mounter.set_up(a_request())
    try:
        entry = host.mounts.table().find(mounter.path.resolve())
        assert entry is not None
        assert entry.source == "flex-tmpfs"
    finally:
        await plugin.unmounter("data", a_pod().uid).tear_down()


@pytest.fixture
async def image(place: Path, needs_tool: NeedsTool) -> Driver:
    needs_tool("mkfs.ext4")
    shutil.copytree(EXAMPLES / "example.com~image", place / "example.com~image")
    return await load(IMAGE, place / "example.com~image" / "image")


@pytest.fixture
def attacher(image: Driver, place: Path) -> Iterator[FlexAttacher]:
    plugin = flex_plugin(image, a_host(place, Mounts()))
    assert isinstance(plugin, AttachableFlexPlugin)
    yield plugin.attacher()
    subprocess.run([str(image.program), "detach", "data", "n1"], check=True)  # noqa: S603


class Counting(Driver):
    """How often the program was run, by call."""

    def __init__(self, inner: Driver) -> None:
        super().__init__(inner.name, inner.program, inner.capabilities)

    def skips(self, call: Call) -> bool:
        return call in self._unsupported


async def test_the_node_formats_and_mounts_what_the_driver_only_attaches(
    image: Driver, attacher: FlexAttacher, place: Path
) -> None:
    counting, host, use = Counting(image), a_host(place, Mounts()), a_use(IMAGE, fsType="ext4")
    plugin = flex_plugin(counting, host)
    assert isinstance(plugin, AttachableFlexPlugin)
    device = await plugin.attacher().attach(use, "n1")
    assert device.startswith("/dev/loop")
    assert await attacher.attach(use, "n1") == device  # again: the same
    assert await attacher.are_attached([use], "n1") == {"data": True}
    assert await attacher.wait_for_attach(use, device, a_pod()) == device

    target = plugin.attacher().device_mount_path(use)
    await plugin.attacher().mount_device(use, device, target, DeviceRequest())
    assert counting.skips(Call.MOUNT_DEVICE)  # a second device would not ask it
    mounter = plugin.mounter(use, a_pod())
    await mounter.set_up(a_request(fs_group=2000))
    usage = await mounter.usage()
    assert usage is not None
    assert usage.capacity
    assert (os.stat(mounter.path).st_gid, (mounter.path / "lost+found").is_dir()) == (2000, True)
    assert Trace(TraceKind.FILES, IMAGE, "data") in scan(host.layout)

    await plugin.unmounter("data", a_pod().uid).tear_down()
    await plugin.attacher().unmount_device(target)
    await plugin.attacher().detach("data", "n1")
    assert await attacher.are_attached([use], "n1") == {"data": False}
    assert not target.exists()


async def test_a_read_only_volume_is_not_formatted_and_not_given_to_a_group(
    image: Driver, attacher: FlexAttacher, place: Path
) -> None:
    use = a_use(IMAGE, readOnly=True)
    device = await attacher.attach(use, "n1")
    target = attacher.device_mount_path(use)
    with pytest.raises(Unformatted):
        await attacher.mount_device(use, device, target, DeviceRequest())
    assert not target.exists()
