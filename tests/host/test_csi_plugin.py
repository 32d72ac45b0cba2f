"""The CSI plugin keeps the contract of all plugins on real mounts, cut anywhere."""

from itertools import count
from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from tests.unit.plugins.contract_suite import NewWorld, PluginContract
from tests.unit.plugins.csi.test_contract import SUBJECTS
from tests.unit.plugins.csi.world import CsiWorld
from tests.unit.plugins.cuts import CutMounts
from tests.unit.plugins.world import VolumeWorld


class TestCsi(PluginContract):
    @pytest.fixture(params=SUBJECTS.values(), ids=[*SUBJECTS])
    def new_world(self, request: pytest.FixtureRequest, place: Path) -> NewWorld:
        numbers = count()

        def make() -> tuple[VolumeWorld, CutMounts]:
            root = place / str(next(numbers))
            root.mkdir()
            mounts = CutMounts(Mounts())
            world = CsiWorld(root, mounts)
            use = request.param(world)
            return VolumeWorld(root, mounts, world.make_plugin, use), mounts

        return make
