"""Every built-in plugin keeps the contract, with mounts that are only played."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.model.pod_volume import EmptyDirSource, ImageSource, PodVolume
from mooring.model.reference import SecretReference
from mooring.model.removed_source import CephfsSource, GlusterfsSource, QuobyteSource
from mooring.model.volume_source import HostPathSource, NfsSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins import ceph
from mooring.plugins.cephfs import Cephfs
from mooring.plugins.config_map import ConfigMapPlugin
from mooring.plugins.contract import Plugin
from mooring.plugins.downward_api import DownwardApiPlugin
from mooring.plugins.empty_dir import EmptyDir
from mooring.plugins.git_repo import NAME as GIT_REPO
from mooring.plugins.glusterfs.mount import Glusterfs
from mooring.plugins.host_path.mount import HostPath
from mooring.plugins.image import Image
from mooring.plugins.local import Local
from mooring.plugins.nfs import Nfs
from mooring.plugins.projected import ProjectedPlugin
from mooring.plugins.quobyte.mount import Quobyte
from mooring.plugins.secret import SecretPlugin
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.contract_suite import NewWorld, PluginContract
from tests.unit.plugins.cuts import CutMounts
from tests.unit.plugins.every_plugin import every_plugin
from tests.unit.plugins.fc.world import an_fc_disk
from tests.unit.plugins.iscsi.world import an_iscsi_disk
from tests.unit.plugins.objects import (
    ALL_SOURCES,
    LABELS_FILE,
    a_config_map_use,
    a_downward_use,
    a_full_api,
    a_projected_use,
    a_secret_use,
)
from tests.unit.plugins.rbd.world import an_rbd_image
from tests.unit.plugins.world import (
    VolumeWorld,
    a_container,
    a_local_use,
    a_pod,
    inline,
)

HUGE = a_container(requests={"hugepages-2Mi": "4Mi"})


def an_empty_dir(medium: str) -> Callable[[Path, CutMounts], VolumeWorld]:
    use = inline(PodVolume(name="cache", empty_dir=EmptyDirSource(medium=medium)))
    return lambda root, mounts: VolumeWorld(root, mounts, EmptyDir, use, a_pod(HUGE))


def a_host_path(root: Path, mounts: CutMounts) -> VolumeWorld:
    source = HostPathSource(str(root / "data"), "DirectoryOrCreate")
    return VolumeWorld(
        root, mounts, lambda _: HostPath(), inline(PodVolume(name="data", host_path=source))
    )


def an_image(root: Path, mounts: CutMounts) -> VolumeWorld:
    source = ImageSource("registry.example.com/model:1")
    return VolumeWorld(
        root, mounts, lambda _: Image(), inline(PodVolume(name="model", image=source))
    )


def a_local_directory(root: Path, mounts: CutMounts) -> VolumeWorld:
    (root / "disk").mkdir()
    return VolumeWorld(root, mounts, Local, a_local_use(root / "disk"))


def an_nfs_directory(root: Path, mounts: CutMounts) -> VolumeWorld:
    source = NfsSource("server.example.com", "/exports/data")
    return VolumeWorld(root, mounts, Nfs, inline(PodVolume(name="data", nfs=source)))


def a_glusterfs_volume(root: Path, mounts: CutMounts) -> VolumeWorld:
    source = GlusterfsSource("storage", "v1")
    use = inline(PodVolume(name="data", glusterfs=source))
    return written(Glusterfs, use)(root, mounts)


def a_cephfs_directory(root: Path, mounts: CutMounts) -> VolumeWorld:
    source = CephfsSource(("10.0.0.1:6789",), secret_ref=SecretReference("ceph"))
    use = inline(PodVolume(name="data", cephfs=source))
    return written(lambda host: Cephfs(host, ceph.run, lambda: False), use)(root, mounts)


def a_quobyte_volume(root: Path, mounts: CutMounts) -> VolumeWorld:
    client = root / "mount.quobyte"
    client.touch()
    use = inline(PodVolume(name="data", quobyte=QuobyteSource("registry:7861", "web")))
    world = VolumeWorld(root, mounts, lambda host: Quobyte(host, client), use)
    seen = world.host.layout.plugin(Quobyte.name) / "registry/root#nfsnobody@web"
    seen.mkdir(parents=True)  # as the registry would show it
    return world


def written(
    make_plugin: Callable[[Host], Plugin], use: VolumeUse
) -> Callable[[Path, CutMounts], VolumeWorld]:
    """A volume made of objects that are there."""

    def make(host: Host) -> Plugin:
        return make_plugin(replace(host, objects=a_full_api()))

    return lambda root, mounts: VolumeWorld(root, mounts, make, use)


SUBJECTS: dict[str, Callable[[Path, CutMounts], VolumeWorld]] = {
    "emptyDir on disk": an_empty_dir(""),
    "emptyDir in memory": an_empty_dir("Memory"),
    "emptyDir in huge pages": an_empty_dir("HugePages"),
    "hostPath": a_host_path,
    "image": an_image,
    "local directory": a_local_directory,
    "nfs": an_nfs_directory,
    "glusterfs": a_glusterfs_volume,
    "cephfs": a_cephfs_directory,
    "quobyte": a_quobyte_volume,
    "rbd": an_rbd_image,
    "iscsi": an_iscsi_disk,
    "fc": an_fc_disk,
    "configMap": written(ConfigMapPlugin, a_config_map_use()),
    "downwardAPI": written(DownwardApiPlugin, a_downward_use(LABELS_FILE)),
    "projected": written(ProjectedPlugin, a_projected_use(ALL_SOURCES)),
    "secret": written(SecretPlugin, a_secret_use()),
}


ELSEWHERE = {GIT_REPO}  # its suite has a git of its own


def test_every_built_in_plugin_is_held_to_the_contract(tmp_path: Path) -> None:
    held = set(ELSEWHERE)
    for number, subject in enumerate(SUBJECTS.values()):
        root = tmp_path / str(number)
        root.mkdir()
        held.add(subject(root, CutMounts(FakeMounts())).plugin.name)
    assert every_plugin() == held


class TestOnPlayedMounts(PluginContract):
    @pytest.fixture(params=SUBJECTS.values(), ids=[*SUBJECTS])
    def new_world(self, request: pytest.FixtureRequest, tmp_path: Path) -> NewWorld:
        numbers = count()

        def make() -> tuple[VolumeWorld, CutMounts]:
            root = tmp_path / str(next(numbers))
            root.mkdir()
            mounts = CutMounts(FakeMounts())
            return request.param(root, mounts), mounts

        return make
