"""A default class of directories, made once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.stack.default_class import CLASS, DefaultClassRole
from tests.fakes.api import ApiUnderTest, make_pki, running_api

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@asynccontextmanager
async def running(api: ApiUnderTest, place: Path) -> AsyncIterator[None]:
    """The role, ready."""
    client = LocalClient(InProcessApi(api.parts.backend, CONTROLLERS))
    role = DefaultClassRole(client, api.clock, place)
    task = asyncio.create_task(role.run())
    try:
        await role.ready()
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_it_is_there_and_default(keys: Pki, tmp_path: Path) -> None:
    async with running_api(keys, tmp_path) as api, running(api, tmp_path):
        made = (await api.get(f"{CLASSES}/{CLASS}")).doc
        assert made["provisioner"] == "kubernetes.io/host-path"
        assert made["metadata"]["annotations"] == DEFAULT


async def test_one_that_somebody_deleted_is_not_made_again(keys: Pki, tmp_path: Path) -> None:
    async with running_api(keys, tmp_path) as api:
        async with running(api, tmp_path):
            assert (await api.delete(f"{CLASSES}/{CLASS}")).code == 200
        async with running(api, tmp_path):
            assert (await api.get(f"{CLASSES}/{CLASS}")).code == 404


async def test_where_there_is_a_default_no_other_is_made(keys: Pki, tmp_path: Path) -> None:
    async with running_api(keys, tmp_path) as api:
        mine = {"metadata": {"name": "mine", "annotations": DEFAULT}, "provisioner": "p"}
        assert (await api.post(CLASSES, mine)).code == 201
        async with running(api, tmp_path):
            assert (await api.get(f"{CLASSES}/{CLASS}")).code == 404
