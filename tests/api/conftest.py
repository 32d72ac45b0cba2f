"""An API per test, in this process; the keys are made once, they are slow to make."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.apiserver.auth.pki import Pki
from tests.fakes.api import ApiUnderTest, make_pki, running_api


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def api(pki: Pki, tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with running_api(pki, tmp_path) as running:
        yield running
