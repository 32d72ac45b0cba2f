"""glusterfs on played mounts: what is asked of mount(8), what is refused, what the log tells."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from mooring.errors import HostError
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.removed_source import GlusterfsSource
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import NotStarted, VolumeError
from mooring.plugins.glusterfs.mount import NAME, Glusterfs, decide_mount, log_file
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts, MountCall
from tests.unit.plugins.objects import PlayedApi
from tests.unit.plugins.world import POD_UID, a_host, a_pod, a_request, inline

LOG = Path("/log")
ONE = ("10.0.0.1",)
LOGGED = ("log-file=/log", "log-level=ERROR")


@pytest.fixture
def mounts() -> FakeMounts:
    return FakeMounts()


@pytest.fixture
def api() -> PlayedApi:
    api = PlayedApi()
    api.servers["storage"] = ONE
    return api


@pytest.fixture
def host(tmp_path: Path, mounts: FakeMounts, api: PlayedApi) -> Host:
    return replace(a_host(tmp_path, mounts), objects=api)


def in_pod(path: str = "v1", *, read_only: bool = False) -> VolumeUse:
    source = GlusterfsSource("storage", path, read_only)
    return inline(PodVolume(name="data", glusterfs=source))


def claimed(*options: str, read_only: bool = False, namespace: str | None = None) -> VolumeUse:
    source = GlusterfsSource("storage", "v1", endpoints_namespace=namespace)
    spec = VolumeSpec(glusterfs=source, mount_options=options)
    volume = Volume(metadata=ObjectMeta(name="pv1"), spec=spec)
    return VolumeUse(volume=volume, read_only=read_only)


@pytest.mark.parametrize(
    ("use", "servers", "sources", "options"),
    [
        pytest.param(in_pod(), ONE, {"10.0.0.1:v1"}, ("auto_unmount", *LOGGED), id="one server"),
        pytest.param(
            in_pod("v1/a;b$(c)"),
            ONE,
            {"10.0.0.1:v1/a;b$(c)"},
            ("auto_unmount", *LOGGED),
            id="what a shell would run is data",
        ),
        pytest.param(
            in_pod(),
            ("10.0.0.1", "10.0.0.2"),
            {"10.0.0.1:v1", "10.0.0.2:v1"},
            ("auto_unmount", "backup-volfile-servers=10.0.0.1:10.0.0.2", *LOGGED),
            id="several servers",
        ),
        pytest.param(
            in_pod(),
            ("fd00::1", "fd00::2"),
            {"fd00::1:v1", "fd00::2:v1"},
            ("auto_unmount", *LOGGED),
            id="addresses of IPv6 cannot be listed",
        ),
        pytest.param(
            in_pod(read_only=True),
            ONE,
            {"10.0.0.1:v1"},
            ("auto_unmount", *LOGGED, "ro"),
            id="inline readOnly",
        ),
        pytest.param(
            claimed(read_only=True),
            ONE,
            {"10.0.0.1:v1"},
            ("auto_unmount", *LOGGED, "ro"),
            id="the claim is read-only",
        ),
        pytest.param(
            claimed("log-level=DEBUG", "log-file=/mine", "acl"),
            ONE,
            {"10.0.0.1:v1"},
            ("acl", "auto_unmount", "log-file=/mine", "log-level=DEBUG"),
            id="options of the user come first",
        ),
    ],
)
def test_what_is_mounted(
    use: VolumeUse, servers: Sequence[str], sources: set[str], options: tuple[str, ...]
) -> None:
    decided = [decide_mount(use, servers, LOG, Random(seed)) for seed in range(20)]  # noqa: S311
    assert {mount.source for mount in decided} == sources
    assert {mount.options for mount in decided} == {options}


async def test_the_mount_is_in_the_pod_and_its_log_in_the_plugins_directory(
    host: Host, mounts: FakeMounts
) -> None:
    await Glusterfs(host).mounter(in_pod(), a_pod()).set_up(a_request())
    log = log_file(host.layout, "data", POD_UID)
    target = host.layout.volume(POD_UID, NAME, "data")
    options = ("auto_unmount", f"log-file={log}", "log-level=ERROR")
    assert mounts.calls == [MountCall("mount", target, "10.0.0.1:v1", "glusterfs", options)]
    log.write_text("the client has something to say\n")
    await Glusterfs(host).unmounter("data", POD_UID).tear_down()
    assert mounts.mounted() == ()
    assert not log.parent.exists()


@pytest.mark.parametrize("text", ["Invalid option auto_unmount", "exit status 1: Invalid argument"])
async def test_a_client_that_knows_no_auto_unmount_mounts_without(
    host: Host, mounts: FakeMounts, text: str
) -> None:
    mounts.fail_at(1, HostError(f"mount failed: {text}"))
    await Glusterfs(host).mounter(in_pod(), a_pod()).set_up(a_request())
    first, second = mounts.calls
    assert "auto_unmount" in first.options
    assert set(first.options) - set(second.options) == {"auto_unmount"}


async def test_a_failed_mount_tells_the_end_of_the_log_and_leaves_nothing(
    host: Host, mounts: FakeMounts
) -> None:
    log = log_file(host.layout, "data", POD_UID)
    log.parent.mkdir(parents=True)
    log.write_text("one\ntwo\nthree\n")
    mounts.fail_at(1, HostError("mount failed: exit status 1"))
    with pytest.raises(HostError) as refused:
        await Glusterfs(host).mounter(in_pod(), a_pod()).set_up(a_request())
    assert str(refused.value) == (
        "mount failed: exit status 1 the following error information was pulled from the"
        " glusterfs log to help diagnose this issue: two\nthree"
    )
    assert not log.parent.exists()
    assert not host.layout.volume(POD_UID, NAME, "data").exists()


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (in_pod("-v1"), "glusterfs.path '-v1' must not begin with '-'"),
        (in_pod(""), "glusterfs.path is empty"),
        (in_pod("v1 -o"), r"glusterfs.path 'v1 -o' must not hold blanks or any of * ? [ ] \ "),
        (in_pod("v*"), r"glusterfs.path 'v*' must not hold blanks or any of * ? [ ] \ "),
        (claimed("a b"), r"mount option 'a b' must not hold blanks or any of * ? [ ] \ "),
    ],
)
def test_what_the_clients_script_would_take_apart_is_refused(
    host: Host, use: VolumeUse, text: str
) -> None:
    with pytest.raises(VolumeError) as refused:
        Glusterfs(host).mounter(use, a_pod())
    assert str(refused.value) == text.rstrip()


async def test_endpoints_that_are_not_there_are_waited_for(host: Host, api: PlayedApi) -> None:
    api.servers.clear()
    with pytest.raises(NotStarted) as refused:
        await Glusterfs(host).mounter(in_pod(), a_pod()).set_up(a_request())
    assert str(refused.value) == (
        'couldn\'t get endpoints default/storage: endpoints "storage" not found'
    )


async def test_the_namespace_of_the_endpoints_can_be_another(host: Host) -> None:
    with pytest.raises(NotStarted, match="nothing is in namespace other"):
        await Glusterfs(host).mounter(claimed(namespace="other"), a_pod()).set_up(a_request())


@pytest.mark.parametrize(
    ("servers", "text"),
    [
        (
            (),
            "failed to execute mount command:[no valid ipaddress found in endpoint address list]",
        ),
        (("-o evil",), "the endpoints hold '-o evil', which is no address"),
    ],
)
def test_without_a_good_address_nothing_is_mounted(servers: Sequence[str], text: str) -> None:
    with pytest.raises(VolumeError) as refused:
        decide_mount(in_pod(), servers, LOG, Random(1))  # noqa: S311
    assert str(refused.value) == text
