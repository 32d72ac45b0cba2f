"""`mooring csi call`: JSON in, JSON out, and errors in one line without secrets."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mooring.cli import app
from mooring.cli.csi_call import _complete_method
from mooring.csi.outcome import Code
from mooring.csi.secrets import Secrets
from mooring.errors import MooringError, UsageError
from mooring.stack.csi_call import Asked, CallFailed, call, find_method, read_secrets, rpcs
from tests.fakes.csi_driver import Fails, FakeCsiDriver

SECRET = "hunter2-hunter2"


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[FakeCsiDriver]:
    async with FakeCsiDriver(tmp_path / "csi.sock") as driver:
        yield driver


async def replies(asked: Asked) -> list[Any]:
    return [reply async for reply in call(asked)]


async def test_a_reply_is_the_json_of_its_message(driver: FakeCsiDriver) -> None:
    (info,) = await replies(Asked(str(driver.socket), "GetPluginInfo"))
    assert info["name"] == driver.state.name


@pytest.mark.parametrize("spelling", ["max_entries", "maxEntries"])
async def test_fields_are_spelt_either_way(driver: FakeCsiDriver, spelling: str) -> None:
    asked = Asked(f"unix://{driver.socket}", "Controller.ListVolumes", {spelling: 3})
    assert await replies(asked) == [{}]
    assert getattr(driver.calls[-1].request, "max_entries") == 3  # noqa: B009  of any message


async def test_a_failure_is_one_line_with_its_code_and_without_the_secret(
    driver: FakeCsiDriver,
) -> None:
    driver.next("DeleteVolume", Fails(Code.FAILED_PRECONDITION, f"in\nuse, {SECRET}"))
    secrets = Secrets.of_text({"password": SECRET})
    with pytest.raises(CallFailed) as failed:
        await replies(Asked(str(driver.socket), "DeleteVolume", {"volume_id": "v"}, secrets))
    said = str(failed.value)
    assert said == "DeleteVolume: FailedPrecondition (9): in use, ***stripped***"
    assert driver.secrets_seen[-1][1] == {"password": SECRET}


async def test_a_field_that_is_none_is_refused_before_the_driver_hears_of_it(
    driver: FakeCsiDriver,
) -> None:
    with pytest.raises(UsageError, match='"ListVolumesRequest"; its fields: max_entries, starting'):
        await replies(Asked(str(driver.socket), "ListVolumes", {"volume": "v"}))
    inner = {"capacity_range": {"bytes": 1}}
    with pytest.raises(UsageError, match=r'e"; its fields: required_bytes, limit_bytes$'):
        await replies(Asked(str(driver.socket), "CreateVolume", inner))
    with pytest.raises(UsageError, match="GetPluginInfo takes no secrets"):
        await replies(
            Asked(str(driver.socket), "GetPluginInfo", {}, Secrets.of_text({"a": SECRET}))
        )
    assert driver.calls == []


async def test_where_nobody_listens_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no socket at .*: is the driver running"):
        await replies(Asked(str(tmp_path / "none.sock"), "Probe"))


@pytest.mark.parametrize("rpc", rpcs(), ids=lambda rpc: rpc.name)
def test_every_rpc_is_found_by_each_of_its_names(rpc: Any) -> None:
    for name in (rpc.name, f"{rpc.service}.{rpc.name}", f"/csi.v1.{rpc.service}/{rpc.name}"):
        assert find_method(name).name == rpc.name
    assert rpc.name in _complete_method(rpc.name[:6].lower())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Nodestage", "did you mean NodeStageVolume"),
        ("CreateVolumes", "did you mean CreateVolume"),
        ("Node.CreateVolume", "did you mean CreateVolume"),
        ("xyz", "--list"),
    ],
)
def test_a_method_that_is_none_leads_to_one(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_method(name)
    assert hint in str(refused.value)


@pytest.mark.parametrize("text", ["[1]", "a: [", "- x", f"password: [{SECRET}]", "1"])
def test_a_file_of_secrets_that_is_none_shows_nothing_of_itself(tmp_path: Path, text: str) -> None:
    (tmp_path / "s").write_text(text)
    with pytest.raises(UsageError) as refused:
        read_secrets(tmp_path / "s")
    assert SECRET not in str(refused.value)


def test_a_file_of_secrets_is_json_or_yaml(tmp_path: Path) -> None:
    for text in ('{"password": "x"}', "password: x\n"):
        (tmp_path / "s").write_text(text)
        assert read_secrets(tmp_path / "s").reveal() == {"password": "x"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Probe", "{"), "the request is no JSON"),
        (("Probe", "[]"), "the request is no JSON object"),
        (("DeleteVolume", '{"secrets": {"a": "b"}}'), "use --secrets-file"),
        (("Probe", "@/nowhere/at/all"), "cannot read /nowhere/at/all"),
        ((), "which method?"),
        (("Probe", "--timeout", "soon"), "--timeout=soon: give a duration"),
    ],
)
def test_what_is_typed_wrong_is_said(arguments: tuple[str, ...], said: str) -> None:
    outcome = CliRunner().invoke(app, ["csi", "call", "/s", *arguments])
    assert isinstance(outcome.exception, MooringError), outcome.output
    assert said in str(outcome.exception)


def test_all_methods_are_listed() -> None:
    outcome = CliRunner().invoke(app, ["csi", "call", "/s", "--list"])
    assert outcome.exit_code == 0, outcome.output
    assert len(outcome.output.splitlines()) == len(rpcs()) + 1
