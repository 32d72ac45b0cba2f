"""The CSI plugin keeps the contract of all plugins, whatever its driver can do."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from mooring.csi.capability import NodeCapability
from mooring.model.volume_use import VolumeUse
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.contract_suite import NewWorld, PluginContract
from tests.unit.plugins.csi.world import CsiWorld, a_persistent_use, an_inline_use
from tests.unit.plugins.cuts import CutMounts
from tests.unit.plugins.world import VolumeWorld


def staged(world: CsiWorld) -> VolumeUse:
    world.attach()
    return a_persistent_use()


def published_only(world: CsiWorld) -> VolumeUse:
    world.state.node.discard(NodeCapability.STAGE_UNSTAGE_VOLUME)
    world.objects.define(attachRequired=False)
    return a_persistent_use()


def inline(world: CsiWorld) -> VolumeUse:
    world.objects.define(volumeLifecycleModes=["Ephemeral"], podInfoOnMount=True)
    return an_inline_use()


SUBJECTS: dict[str, Callable[[CsiWorld], VolumeUse]] = {
    "attached and staged": staged,
    "neither attached nor staged": published_only,
    "inline": inline,
}


class TestOnPlayedMounts(PluginContract):
    @pytest.fixture(params=SUBJECTS.values(), ids=[*SUBJECTS])
    def new_world(self, request: pytest.FixtureRequest, tmp_path: Path) -> NewWorld:
        numbers = count()

        def make() -> tuple[VolumeWorld, CutMounts]:
            root = tmp_path / str(next(numbers))
            root.mkdir()
            mounts = CutMounts(FakeMounts())
            world = CsiWorld(root, mounts)
            use = request.param(world)
            return VolumeWorld(root, mounts, world.make_plugin, use), mounts

        return make
