"""FlexVolume plugins keep the contract, with mounts that are only played."""

from itertools import count
from pathlib import Path

import pytest

from mooring.model.pod_volume import PodVolume
from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.plugin import flex_plugin
from tests.fakes.flex_driver import NAME, PlayedDriver
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.contract_suite import NewWorld, PluginContract
from tests.unit.plugins.cuts import CutMounts
from tests.unit.plugins.world import VolumeWorld, inline

USE = inline(PodVolume(name="data", flex_volume={"driver": NAME}))


class TestOnPlayedMounts(PluginContract):
    @pytest.fixture(params=[False, True], ids=["for each pod", "attached, once for all pods"])
    def new_world(self, request: pytest.FixtureRequest, tmp_path: Path) -> NewWorld:
        numbers = count()
        capabilities = Capabilities(attach=request.param)

        def make() -> tuple[VolumeWorld, CutMounts]:
            root = tmp_path / str(next(numbers))
            root.mkdir()
            mounts = CutMounts(FakeMounts())
            driver = PlayedDriver(mounts, capabilities)
            return VolumeWorld(root, mounts, lambda host: flex_plugin(driver, host), USE), mounts

        return make
