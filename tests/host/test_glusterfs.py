"""glusterfs with Debian's server and FUSE client."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import HostError
from mooring.host.mount import Mounts
from mooring.host.mountinfo import read_table
from mooring.model.meta import ObjectMeta
from mooring.model.removed_source import GlusterfsSource
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.glusterfs.mount import Glusterfs, log_file
from mooring.plugins.volume_host import Host
from tests.host.gluster import ADDRESS, TOOLS, VOLUME, Gluster, running
from tests.unit.plugins.objects import PlayedApi
from tests.unit.plugins.world import POD_UID, a_host, a_pod, a_request


@pytest.fixture(scope="module")
def gluster(needs_root: None) -> Iterator[Gluster]:
    for name in TOOLS:
        if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            pytest.skip(f"needs {name}: install glusterfs-server and glusterfs-client")
    if not Path("/dev/fuse").exists():
        pytest.skip("needs FUSE: there is no /dev/fuse")
    with running() as gluster:
        yield gluster


@pytest.fixture
def host(place: Path, mounts: Mounts) -> Host:
    api = PlayedApi()
    api.servers["storage"] = (ADDRESS, "127.0.0.3")
    return replace(a_host(place, mounts), objects=api)


def a_volume(gluster: Gluster, path: str = VOLUME, *, read_only: bool = False) -> VolumeUse:
    spec = VolumeSpec(
        glusterfs=GlusterfsSource("storage", path), mount_options=(f"server-port={gluster.port}",)
    )
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name="pv1"), spec=spec), read_only=read_only)


async def test_what_a_pod_writes_is_on_the_server(gluster: Gluster, host: Host) -> None:
    plugin = Glusterfs(host)
    mounter = plugin.mounter(a_volume(gluster), a_pod())
    await mounter.set_up(a_request())
    await mounter.set_up(a_request())
    entry = read_table().find(mounter.path)
    assert entry is not None
    assert entry.fs_type == "fuse.glusterfs"
    (mounter.path / "greeting").write_text("hello")
    assert (gluster.brick / "greeting").read_text() == "hello"
    usage = await mounter.usage()
    assert usage is not None
    assert usage.capacity
    await plugin.unmounter("pv1", POD_UID).tear_down()
    assert not mounter.path.exists()
    assert not log_file(host.layout, "pv1", POD_UID).parent.exists()


async def test_read_only(gluster: Gluster, host: Host) -> None:
    plugin = Glusterfs(host)
    mounter = plugin.mounter(a_volume(gluster, read_only=True), a_pod())
    await mounter.set_up(a_request())
    with pytest.raises(OSError, match="Read-only file system"):
        (mounter.path / "refused").touch()
    await plugin.unmounter("pv1", POD_UID).tear_down()


async def test_a_volume_that_is_not_there_fails_with_the_words_of_the_log(
    gluster: Gluster, host: Host
) -> None:
    mounter = Glusterfs(host).mounter(a_volume(gluster, "v2"), a_pod())
    with pytest.raises(HostError, match=r"pulled from the glusterfs log(.|\n)*volume file"):
        await mounter.set_up(a_request())
    assert not mounter.path.exists()


async def test_a_client_that_died_is_torn_down(gluster: Gluster, host: Host) -> None:
    plugin = Glusterfs(host)
    mounter = plugin.mounter(a_volume(gluster), a_pod())
    await mounter.set_up(a_request())
    for pid in clients_of(mounter.path):
        os.kill(pid, signal.SIGKILL)
    await plugin.unmounter("pv1", POD_UID).tear_down()
    assert not mounter.path.exists()


def clients_of(target: Path) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"/glusterfs" in words[0] and os.fsencode(target) in words:
                yield int(process.name)
