"""The name of a data directory's node: kept, and what becomes of the Node of an old one."""

from pathlib import Path

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.errors import Conflict
from mooring.stack.node_name import FILE, find_node_name, settle_node_name
from tests.fakes.api import ApiUnderTest, make_pki, running_api

NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


def client_of(api: ApiUnderTest) -> LocalClient:
    return LocalClient(InProcessApi(api.parts.backend, CONTROLLERS))


async def settle(api: ApiUnderTest, data_dir: Path, name: str) -> None:
    await settle_node_name(client_of(api), api.clock, data_dir, name)


async def nodes(api: ApiUnderTest) -> list[str]:
    return [node["metadata"]["name"] for node in (await api.get(NODES)).doc["items"]]


async def test_a_new_one_is_kept_for_its_owner_alone(keys: Pki, tmp_path: Path) -> None:
    assert find_node_name(tmp_path) == ""
    async with running_api(keys, tmp_path) as api:
        await settle(api, tmp_path, "one")
    assert find_node_name(tmp_path) == "one"
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_what_is_no_directory_has_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert find_node_name(tmp_path / "file") == ""


async def test_the_node_of_an_old_name_goes_and_no_other(keys: Pki, tmp_path: Path) -> None:
    async with running_api(keys, tmp_path) as api:
        for name in ("one", "elsewhere"):
            assert (await api.post(NODES, {"metadata": {"name": name}})).code == 201
        await settle(api, tmp_path, "one")
        assert sorted(await nodes(api)) == ["elsewhere", "one"]
        await settle(api, tmp_path, "two")
        assert await nodes(api) == ["elsewhere"]
        (event,) = (await api.get("/api/v1/namespaces/default/events")).doc["items"]
        assert (event["reason"], event["involvedObject"]["name"]) == ("RemovingNode", "one")
        assert event["message"] == "This machine is the node two now: Node one is removed"
    assert find_node_name(tmp_path) == "two"


async def test_one_that_is_gone_already_is_no_trouble(keys: Pki, tmp_path: Path) -> None:
    async with running_api(keys, tmp_path) as api:
        await settle(api, tmp_path, "one")
        await settle(api, tmp_path, "two")
    assert find_node_name(tmp_path) == "two"


async def test_what_fails_is_left_to_the_next_start(
    keys: Pki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise Conflict("not now")

    async with running_api(keys, tmp_path) as api:
        await settle(api, tmp_path, "one")
        assert (await api.post(NODES, {"metadata": {"name": "one"}})).code == 201
        with monkeypatch.context() as broken:
            broken.setattr(LocalClient, "delete", fail)
            await settle(api, tmp_path, "two")
        assert find_node_name(tmp_path) == "one"
        assert "not now" in caplog.text
        await settle(api, tmp_path, "two")
        assert await nodes(api) == []
