"""What the node does with a driver's answers: every call, and what it does without the driver."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.secret import Secret
from mooring.model.secret_value import SecretValue
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    Attachable,
    DeviceMountable,
    DeviceRequest,
    Expandable,
    GrowthRequest,
    NodeExpandable,
    NotStarted,
    NotSupported,
    Persistent,
    VolumeError,
)
from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.names import FlexName, find_flex_name
from mooring.plugins.flex.plugin import AttachableFlexPlugin, flex_plugin
from mooring.plugins.flex.reconstruct import FlexTrace, scan
from mooring.plugins.unique_name import unique_name
from mooring.plugins.volume_host import Host
from tests.fakes.flex_driver import NAME, WrittenDriver
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.flex.test_options import a_use, a_volume_use
from tests.unit.plugins.objects import PlayedApi
from tests.unit.plugins.world import POD_UID, a_pod, a_request


class TypedApi(PlayedApi):
    """A secret with a type."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    async def secret(self, key: Key) -> Secret:
        data = {"password": SecretValue(b"hunter2")}
        return Secret(metadata=ObjectMeta(name=key.name), type=self._kind, data=data)


@pytest.fixture
def written(tmp_path: Path) -> WrittenDriver:
    return WrittenDriver(tmp_path / "exec")


@pytest.fixture
def plugin(written: WrittenDriver, host: Host) -> AttachableFlexPlugin:
    found = flex_plugin(written.load(), host)
    assert isinstance(found, AttachableFlexPlugin)
    return found


def test_a_driver_serves_its_own_volumes(plugin: AttachableFlexPlugin) -> None:
    assert plugin.supports(a_use())
    assert plugin.supports(a_volume_use())
    assert not plugin.supports(a_use(driver="other/driver"))


def test_without_attaching_it_is_no_attachable_plugin(written: WrittenDriver, host: Host) -> None:
    plugin = flex_plugin(written.load(Capabilities(attach=False)), host)
    assert not isinstance(plugin, Attachable)
    assert not isinstance(plugin, DeviceMountable)
    assert unique_name(plugin, a_use(), POD_UID) == f"{NAME}/{POD_UID}-data"


def test_with_attaching_it_has_every_part(plugin: AttachableFlexPlugin) -> None:
    for part in (Attachable, DeviceMountable, Expandable, NodeExpandable, Persistent):
        assert isinstance(plugin, part)
    assert unique_name(plugin, a_volume_use(), POD_UID) == f"{NAME}/pv1"
    assert unique_name(plugin, plugin.rebuild("pv1", POD_UID), POD_UID) == f"{NAME}/pv1"


# attaching


async def test_attach_gives_the_device(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    written.answers("attach", status="Success", device="/dev/xvda")
    assert await plugin.attacher().attach(a_volume_use(), "n1") == "/dev/xvda"
    (_, asked) = written.calls()
    assert asked[0] == "attach"
    assert json.loads(asked[1])["kubernetes.io/pvOrVolumeName"] == "pv1"
    assert asked[2] == "n1"


async def test_a_driver_that_refuses_the_name_attaches_nothing(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    written.answers("getvolumename", status="Failure", message="no such disk")
    with pytest.raises(VolumeError, match="no such disk"):
        await plugin.attacher().attach(a_volume_use(), "n1")
    assert [call[0] for call in written.calls()] == ["getvolumename"]


async def test_without_the_driver_everything_is_attached_as_it_is(
    plugin: AttachableFlexPlugin,
) -> None:
    attacher = plugin.attacher()
    assert await attacher.attach(a_use(), "n1") == ""
    assert await attacher.wait_for_attach(a_use(), "/dev/x", a_pod()) == "/dev/x"
    assert await attacher.are_attached([a_use()], "n1") == {}
    await attacher.detach("data", "n1")


async def test_the_driver_says_what_is_attached_and_where(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    written.answers("isattached", status="Success", attached=True)
    written.answers("waitforattach", status="Success", device="/dev/y")
    written.answers("detach", status="Success")
    attacher = plugin.attacher()
    assert await attacher.are_attached([a_use()], "n1") == {"data": True}
    assert await attacher.wait_for_attach(a_use(), "/dev/x", a_pod()) == "/dev/y"
    await attacher.detach("data", "n1")
    assert written.calls()[1][:2] == ["waitforattach", "/dev/x"]
    assert written.calls()[2] == ["detach", "data", "n1"]


# once for all pods


async def mount_device(plugin: AttachableFlexPlugin, use: VolumeUse, device: str) -> Path:
    target = plugin.attacher().device_mount_path(use)
    await plugin.attacher().mount_device(use, device, target, DeviceRequest())
    return target


async def test_a_device_is_mounted_where_kubernetes_mounts_it(
    plugin: AttachableFlexPlugin, written: WrittenDriver, host: Host
) -> None:
    written.answers("mountdevice", status="Success")
    target = await mount_device(plugin, a_volume_use(), "/dev/x")
    expected = "plugins/kubernetes.io/flexvolume/example.com/disk/mounts/pv1"
    assert target == host.layout.root / expected
    assert written.calls()[0][:3] == ["mountdevice", str(target), "/dev/x"]


async def test_what_is_mounted_is_not_mounted_again(
    plugin: AttachableFlexPlugin, written: WrittenDriver, mounts: FakeMounts
) -> None:
    target = plugin.attacher().device_mount_path(a_use())
    target.mkdir(parents=True)
    mounts.mount("x", target, "ext4")
    await mount_device(plugin, a_use(), "/dev/x")
    assert written.calls() == []


async def test_another_volume_of_the_same_name_is_not_given_away(
    plugin: AttachableFlexPlugin, host: Host, written: WrittenDriver
) -> None:
    written.answers("mountdevice", status="Success")
    assert isinstance(host.mounts, FakeMounts)
    theirs, ours = a_use(options={"disk": "theirs"}), a_use(options={"disk": "ours"})
    target = await mount_device(plugin, theirs, "/dev/x")
    host.mounts.mount("/dev/x", target, "ext4")
    refused = "another volume of the name data is mounted on this node, with other options"
    with pytest.raises(VolumeError, match=refused):
        await plugin.attacher().mount_device(ours, "/dev/x", target, DeviceRequest())
    with pytest.raises(VolumeError, match=refused):
        await plugin.mounter(ours, a_pod()).set_up(a_request())
    await plugin.mounter(theirs, a_pod()).set_up(a_request())


async def test_what_is_kept_of_a_device_mount_is_no_volume_and_goes_with_it(
    plugin: AttachableFlexPlugin, host: Host
) -> None:
    target = await mount_device(plugin, a_volume_use(), "")
    assert list(scan(host.layout)) == [FlexTrace(NAME, "pv1")]
    await plugin.attacher().unmount_device(target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("handle", ["--force", "a\nb", "", "..", "A B", "x" * 300])
def test_a_node_cannot_have_a_driver_run_with_a_name_that_no_volume_has(handle: str) -> None:
    assert find_flex_name(f"{NAME}/pv1") == FlexName(NAME, "pv1")
    assert find_flex_name(f"{NAME}/{handle}") is None


async def test_a_failed_device_mount_leaves_nothing(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    written.answers("mountdevice", status="Failure", message="bad disk")
    with pytest.raises(VolumeError, match="bad disk"):
        await mount_device(plugin, a_use(), "/dev/x")
    assert not plugin.attacher().device_mount_path(a_use()).exists()


async def test_a_device_is_unmounted_by_the_driver_if_it_is_mounted(
    plugin: AttachableFlexPlugin, written: WrittenDriver, mounts: FakeMounts
) -> None:
    target = plugin.attacher().device_mount_path(a_use())
    target.mkdir(parents=True)
    await plugin.attacher().unmount_device(target)
    assert (written.calls(), target.exists()) == ([], False)
    target.mkdir()
    mounts.mount("x", target, "ext4")
    await plugin.attacher().unmount_device(target)
    assert written.calls() == [["unmountdevice", str(target)]]
    assert not mounts.is_mount_point(target)
    assert not target.exists()


async def test_a_driver_that_says_success_and_leaves_the_mount_is_not_believed(
    plugin: AttachableFlexPlugin, written: WrittenDriver, mounts: FakeMounts
) -> None:
    written.answers("unmountdevice", status="Success")
    target = plugin.attacher().device_mount_path(a_use())
    target.mkdir(parents=True)
    mounts.mount("x", target, "ext4")
    with pytest.raises(VolumeError, match="still mounted"):
        await plugin.attacher().unmount_device(target)


# for a pod


async def test_a_pod_gets_its_volume_from_the_driver(
    plugin: AttachableFlexPlugin, written: WrittenDriver, host: Host
) -> None:
    written.answers("mount", status="Success")
    mounter = plugin.mounter(a_use(readOnly=True), a_pod())
    assert mounter.attributes.read_only
    await mounter.set_up(a_request(fs_group=2000))
    assert mounter.path == host.layout.root / f"pods/{POD_UID}/volumes/example.com~disk/data"
    (asked,) = written.calls()
    assert asked[:2] == ["mount", str(mounter.path)]
    told = json.loads(asked[2])
    assert told["kubernetes.io/pod.name"] == "web"
    assert told["kubernetes.io/mounterArgs.FsGroup"] == "2000"
    assert told["kubernetes.io/readwrite"] == "ro"


async def test_without_the_driver_the_device_mount_is_bound(
    plugin: AttachableFlexPlugin, mounts: FakeMounts
) -> None:
    device = plugin.attacher().device_mount_path(a_use())
    device.mkdir(parents=True)
    mounts.mount("x", device, "ext4")
    mounter = plugin.mounter(a_use(), a_pod())
    await mounter.set_up(a_request())
    assert mounts.is_mount_point(mounter.path)


async def test_nothing_is_bound_where_no_device_is_mounted(plugin: AttachableFlexPlugin) -> None:
    mounter = plugin.mounter(a_use(), a_pod())
    with pytest.raises(VolumeError, match="no device is mounted"):
        await mounter.set_up(a_request())
    assert not mounter.path.exists()


async def test_a_failed_mount_leaves_no_directory(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    written.answers("mount", status="Failure", message="no disk")
    mounter = plugin.mounter(a_use(), a_pod())
    with pytest.raises(VolumeError, match="mount command failed, status: Failure, reason: no disk"):
        await mounter.set_up(a_request())
    assert not mounter.path.exists()


async def test_a_secret_of_another_type_is_not_given_away(
    written: WrittenDriver, host: Host
) -> None:
    plugin = flex_plugin(written.load(), replace(host, objects=TypedApi("Opaque")))
    mounter = plugin.mounter(a_use(secretRef={"name": "login"}), a_pod())
    expected = f"couldn't get secret default/login err: cannot get secret of type {NAME}"
    with pytest.raises(NotStarted, match=expected):
        await mounter.set_up(a_request())
    assert not mounter.path.exists()
    assert written.calls() == []


async def test_a_secret_of_its_own_type_is_given_to_the_driver(
    written: WrittenDriver, host: Host
) -> None:
    written.answers("mount", status="Success")
    plugin = flex_plugin(written.load(), replace(host, objects=TypedApi(NAME)))
    await plugin.mounter(a_use(secretRef={"name": "login"}), a_pod()).set_up(a_request())
    told = json.loads(written.calls()[0][2])
    assert told["kubernetes.io/secret/password"] == "aHVudGVyMg=="


async def test_a_pod_loses_its_volume_by_the_driver(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    unmounter = plugin.unmounter("data", POD_UID)
    await unmounter.tear_down()
    assert written.calls() == []  # nothing is there
    written.does("unmount", 'rmdir "$2"; echo \'{"status": "Success"}\'')
    unmounter.path.mkdir(parents=True)
    await unmounter.tear_down()
    assert written.calls() == [["unmount", str(unmounter.path)]]


async def test_what_the_driver_could_not_unmount_stays(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    written.answers("unmount", status="Success")
    unmounter = plugin.unmounter("data", POD_UID)
    unmounter.path.mkdir(parents=True)
    (unmounter.path / "work").write_text("a user's data")
    with pytest.raises(Exception, match="not empty"):
        await unmounter.tear_down()
    assert (unmounter.path / "work").read_text() == "a user's data"


async def test_usage_is_measured_where_the_driver_allows_it(
    written: WrittenDriver, host: Host
) -> None:
    for can in (False, True):
        plugin = flex_plugin(written.load(Capabilities(supports_metrics=can)), host)
        mounter = plugin.mounter(a_use(), a_pod())
        mounter.path.mkdir(parents=True, exist_ok=True)
        usage = await mounter.usage()
        assert (usage is not None) is can


# growing


async def test_the_back_end_grows_by_the_driver(
    plugin: AttachableFlexPlugin, written: WrittenDriver
) -> None:
    assert await plugin.grow(a_volume_use(), 20, 10) == 20
    written.answers("expandvolume", status="Failure", message="full")
    fresh = flex_plugin(written.load(), plugin._host)
    with pytest.raises(VolumeError, match="full"):
        await fresh.grow(a_volume_use(), 20, 10)
    assert written.calls()[0][0] == "expandvolume"
    assert written.calls()[0][3:] == ["20", "10"]


def growth(use: VolumeUse, device: str = "") -> GrowthRequest:
    return GrowthRequest(use, 20, 10, device, Path("/pod"), Path("/device"))


async def test_the_file_system_grows_by_the_driver(
    plugin: AttachableFlexPlugin, written: WrittenDriver, host: Host
) -> None:
    written.answers("expandfs", status="Success")
    assert await plugin.grow_on_node(growth(a_volume_use(), "/dev/x"))
    (asked,) = written.calls()
    place = host.layout.root / "plugins/kubernetes.io/flexvolume/example.com/disk/mounts/pv1"
    assert [asked[0], *asked[2:]] == ["expandfs", "/dev/x", str(place), "20", "10"]


async def test_what_cannot_grow_says_so(plugin: AttachableFlexPlugin) -> None:
    with pytest.raises(NotSupported, match="no device"):
        await plugin.grow_on_node(growth(a_volume_use()))
    with pytest.raises(NotSupported, match="persistent"):
        await plugin.grow_on_node(growth(a_use()))
    use = a_volume_use()
    assert use.volume is not None
    block = replace(use.volume, spec=replace(use.volume.spec, volume_mode=VolumeMode.BLOCK))
    assert await plugin.grow_on_node(growth(VolumeUse(volume=block)))


def test_growth_on_the_node_is_as_the_driver_says(written: WrittenDriver, host: Host) -> None:
    for needs in (False, True):
        plugin = flex_plugin(written.load(Capabilities(requires_fs_resize=needs)), host)
        assert plugin.needs_node_growth(a_volume_use()) is needs
