"""nfs on played mounts: what is asked of mount(8), what is refused, and a server that is gone."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import NfsSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Annotation
from mooring.plugins.contract import Attributes, VolumeError
from mooring.plugins.nfs import NAME, Nfs
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts, MountCall
from tests.unit.plugins.world import POD_UID, a_host, a_pod, a_request, inline

SERVER = "server.example.com"


@pytest.fixture
def mounts() -> FakeMounts:
    return FakeMounts()


@pytest.fixture
def host(tmp_path: Path, mounts: FakeMounts) -> Host:
    return a_host(tmp_path, mounts)


def in_pod(server: str = SERVER, path: str = "/exports", *, read_only: bool = False) -> VolumeUse:
    return inline(PodVolume(name="data", nfs=NfsSource(server, path, read_only)))


def claimed(
    *options: str, read_only: bool = False, of_volume: bool = False, annotation: str = ""
) -> VolumeUse:
    annotations = {Annotation.MOUNT_OPTIONS_BETA: annotation} if annotation else {}
    source = NfsSource(SERVER, "/exports", of_volume)
    volume = Volume(
        metadata=ObjectMeta(name="pv1", annotations=annotations),
        spec=VolumeSpec(nfs=source, mount_options=options),
    )
    return VolumeUse(volume=volume, read_only=read_only)


async def set_up(host: Host, use: VolumeUse) -> Path:
    mounter = Nfs(host).mounter(use, a_pod())
    await mounter.set_up(a_request())
    return mounter.path


@pytest.mark.parametrize(
    ("use", "source", "options"),
    [
        pytest.param(in_pod(), f"{SERVER}:/exports", (), id="without options"),
        pytest.param(in_pod("10.0.0.7"), "10.0.0.7:/exports", (), id="an address"),
        pytest.param(in_pod("fd00::1"), "[fd00::1]:/exports", (), id="an address of IPv6"),
        pytest.param(in_pod("[fd00::1]"), "[fd00::1]:/exports", (), id="brackets are kept"),
        pytest.param(in_pod(read_only=True), f"{SERVER}:/exports", ("ro",), id="inline readOnly"),
        pytest.param(in_pod(path="/a b;c/../d"), f"{SERVER}:/a b;c/../d", (), id="path is data"),
        pytest.param(
            claimed("vers=4.2", "hard", "hard"),
            f"{SERVER}:/exports",
            ("hard", "vers=4.2"),
            id="options sorted, each once",
        ),
        pytest.param(
            claimed("soft", read_only=True),
            f"{SERVER}:/exports",
            ("ro", "soft"),
            id="the claim is read-only",
        ),
        pytest.param(
            claimed(of_volume=True), f"{SERVER}:/exports", (), id="readOnly of the volume is not"
        ),
        pytest.param(
            claimed("soft", annotation="hard,vers=4.1"),
            f"{SERVER}:/exports",
            ("hard", "vers=4.1"),
            id="the annotation wins",
        ),
    ],
)
async def test_what_is_mounted(
    host: Host, mounts: FakeMounts, use: VolumeUse, source: str, options: tuple[str, ...]
) -> None:
    target = await set_up(host, use)
    assert target == host.layout.volume(POD_UID, NAME, use.name)
    assert mounts.calls == [MountCall("mount", target, source, "nfs", options)]
    assert Nfs(host).mounter(use, a_pod()).attributes == Attributes(read_only="ro" in options)
    assert target.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("server", "path", "text"),
    [
        ("-oevil", "/x", "nfs.server '-oevil' must not begin with '-'"),
        ("", "/x", "nfs.server is empty"),
        ("a\nb", "/x", r"nfs.server 'a\nb' must not hold control characters"),
        ("a", "/x\0y", r"nfs.path '/x\x00y' must not hold control characters"),
        ("a", "x", "nfs.path 'x' must be an absolute path"),
    ],
)
def test_what_a_program_could_mistake_is_refused(
    host: Host, server: str, path: str, text: str
) -> None:
    with pytest.raises(VolumeError) as refused:
        Nfs(host).mounter(in_pod(server, path), a_pod())
    assert str(refused.value) == text


async def test_a_mount_that_appeared_though_it_failed_is_taken_away(
    host: Host, mounts: FakeMounts
) -> None:
    mounts.cut_after(1, HostError("mount failed: exit status 32"))
    with pytest.raises(HostError, match="exit status 32"):
        await set_up(host, in_pod())
    assert mounts.mounted() == ()
    assert not host.layout.volume(POD_UID, NAME, "data").exists()


async def test_an_unmount_that_waits_for_its_server_is_forced_after_a_minute(
    host: Host, mounts: FakeMounts
) -> None:
    target = await set_up(host, in_pod())
    await Nfs(host).unmounter("data", POD_UID).tear_down()
    assert mounts.calls[1] == MountCall("unmount_by_force", target, options=("60.0",))
    assert not target.exists()


async def test_a_mount_in_use_stays_and_is_not_forgotten(host: Host, mounts: FakeMounts) -> None:
    target = await set_up(host, in_pod())
    mounts.keep_busy(target)
    with pytest.raises(HostError, match="busy"):
        await Nfs(host).unmounter("data", POD_UID).tear_down()
    assert mounts.mounted() == (target,)


def test_many_nodes_may_write_to_it() -> None:
    assert Nfs.access_modes == (AccessMode.ONCE, AccessMode.READ_ONLY_MANY, AccessMode.MANY)


def test_it_is_known_by_server_and_path(host: Host) -> None:
    assert Nfs(host).volume_name(in_pod()) == f"{SERVER}//exports"
