"""Plugins keep the contract on real mounts, disks and file systems."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.host.mount import Mounts
from mooring.model.pod_volume import EmptyDirSource, PodVolume
from mooring.plugins.empty_dir import EmptyDir
from mooring.plugins.local import Local
from mooring.plugins.projected import ProjectedPlugin
from tests.host.conftest import NeedsTool
from tests.host.disks import Disks
from tests.unit.plugins.contract_suite import NewWorld, PluginContract
from tests.unit.plugins.cuts import CutMounts
from tests.unit.plugins.objects import ALL_SOURCES, a_full_api, a_projected_use
from tests.unit.plugins.world import (
    VolumeWorld,
    a_container,
    a_local_use,
    a_pod,
    inline,
)

HUGE = a_container(requests={"hugepages-2Mi": "4Mi"})
Make = Callable[[Path, CutMounts], VolumeWorld]


def worlds(place: Path, make: Make) -> NewWorld:
    numbers = count()

    def new_world() -> tuple[VolumeWorld, CutMounts]:
        root = place / str(next(numbers))
        root.mkdir()
        mounts = CutMounts(Mounts())
        return make(root, mounts), mounts

    return new_world


class TestEmptyDir(PluginContract):
    @pytest.fixture(params=["", "Memory", "HugePages"])
    def new_world(
        self, request: pytest.FixtureRequest, place: Path, needs_filesystem: NeedsTool
    ) -> NewWorld:
        if request.param == "HugePages":
            needs_filesystem("hugetlbfs")
        use = inline(PodVolume(name="cache", empty_dir=EmptyDirSource(medium=request.param)))
        return worlds(
            place, lambda root, mounts: VolumeWorld(root, mounts, EmptyDir, use, a_pod(HUGE))
        )


class TestLocalDirectory(PluginContract):
    @pytest.fixture
    def new_world(self, place: Path) -> NewWorld:
        def make(root: Path, mounts: CutMounts) -> VolumeWorld:
            (root / "disk").mkdir()
            (root / "disk" / "data").touch()
            return VolumeWorld(root, mounts, Local, a_local_use(root / "disk"))

        return worlds(place, make)


class TestLocalDevice(PluginContract):
    @pytest.fixture
    def new_world(self, place: Path, disks: Disks, needs_tool: NeedsTool) -> NewWorld:
        needs_tool("mkfs.ext4")
        return worlds(
            place,
            lambda root, mounts: VolumeWorld(root, mounts, Local, a_local_use(disks.empty())),
        )


class TestProjected(PluginContract):
    """All that is made of API objects is written in the same way; this has every source."""

    @pytest.fixture
    def new_world(self, place: Path) -> NewWorld:
        use = a_projected_use(ALL_SOURCES)
        return worlds(
            place,
            lambda root, mounts: VolumeWorld(
                root,
                mounts,
                lambda host: ProjectedPlugin(replace(host, objects=a_full_api())),
                use,
            ),
        )
