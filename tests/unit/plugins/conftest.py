"""A node whose API has objects for its volumes."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.objects import PlayedApi, a_full_api
from tests.unit.plugins.world import a_host


@pytest.fixture
def mounts() -> FakeMounts:
    return FakeMounts()


@pytest.fixture
def api() -> PlayedApi:
    return a_full_api()


@pytest.fixture
def host(tmp_path: Path, mounts: FakeMounts, api: PlayedApi) -> Host:
    return replace(a_host(tmp_path, mounts), objects=api)
