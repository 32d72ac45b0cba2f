"""Running drivers, good ones and bad ones."""

import json
import logging
import os
from pathlib import Path

import pytest

from mooring.model.secret_value import SecretValue
from mooring.plugins.contract import NotStarted, Uncertain, VolumeError
from mooring.plugins.flex import driver as driver_file
from mooring.plugins.flex.driver import load
from mooring.plugins.flex.options import mount_options, volume_options
from mooring.plugins.flex.reply import Answer, Call
from tests.fakes.flex_driver import NAME, WrittenDriver
from tests.unit.plugins.flex.test_options import HOSTILE, a_use
from tests.unit.plugins.world import a_pod


@pytest.fixture
def written(tmp_path: Path) -> WrittenDriver:
    return WrittenDriver(tmp_path)


def is_over(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z"


async def test_a_call_gets_its_arguments_as_they_are(written: WrittenDriver) -> None:
    written.answers("mount", status="Success")
    hostile = volume_options(a_use(options=HOSTILE))
    path = "/x; touch /tmp/owned\n$(id)"
    assert await written.load().ask(Call.MOUNT, path, hostile) == Answer()
    assert written.calls() == [["mount", path, hostile.argument]]
    assert json.loads(written.calls()[0][2])["e"] == HOSTILE["e"]


async def test_what_is_not_supported_is_asked_once(written: WrittenDriver) -> None:
    driver = written.load()
    assert await driver.ask(Call.DETACH, "v", "n") is None
    assert await driver.ask(Call.DETACH, "v", "n") is None
    assert written.calls() == [["detach", "v", "n"]]


async def test_a_driver_that_is_loaded_anew_is_asked_again(written: WrittenDriver) -> None:
    assert await written.load().ask(Call.DETACH, "v", "n") is None
    written.answers("detach", status="Success")
    assert await written.load().ask(Call.DETACH, "v", "n") == Answer()


@pytest.mark.parametrize(
    ("script", "because"),
    [
        ('echo complaint >&2; echo \'{"status": "Success"}\'', "bad reply of the driver"),
        ("exit 3", "exit status 3"),
        ("kill -9 $$", "signal: killed"),
        ('echo \'{"status": "Success"}\'; exit 1', "exit status 1, although"),
        (
            'echo \'{"status": "Failure", "message": "no disk"}\'; exit 1',
            "status: Failure, reason: no disk",
        ),
        ("head -c 3000000 /dev/zero", "more than 1048576 bytes"),
        ("printf '\\377\\376'", "bad reply"),
    ],
)
async def test_a_driver_that_fails(written: WrittenDriver, script: str, because: str) -> None:
    written.does("mount", script)
    with pytest.raises(VolumeError, match=because) as caught:
        await written.load().ask(Call.MOUNT, "/x")
    assert not isinstance(caught.value, NotStarted | Uncertain)
    assert len(str(caught.value)) < 600


async def test_a_driver_that_hangs_is_killed_with_its_children(
    written: WrittenDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_file, "CALL_SECONDS", 0.3)
    written.does("mount", f"sleep 600 & echo $! > {written.home}/.child; wait")
    with pytest.raises(Uncertain, match="timeout"):
        await written.load().ask(Call.MOUNT, "/x")
    child = int((written.home / ".child").read_text())
    assert is_over(child)


async def test_a_daemon_that_a_driver_leaves_lives_on(written: WrittenDriver) -> None:
    written.does(
        "mount",
        f"sleep 60 >/dev/null 2>&1 & echo $! > {written.home}/.child\n"
        'echo \'{"status": "Success"}\'',
    )
    assert await written.load().ask(Call.MOUNT, "/x") == Answer()
    child = int((written.home / ".child").read_text())
    os.kill(child, 9)  # raises if it is gone


async def test_a_driver_that_has_vanished_has_begun_nothing(written: WrittenDriver) -> None:
    driver = written.load()
    written.program.unlink()
    with pytest.raises(NotStarted, match="no such file"):
        await driver.ask(Call.MOUNT, "/x")


async def test_a_program_that_may_not_be_run_has_begun_nothing(written: WrittenDriver) -> None:
    written.program.chmod(0o644)
    with pytest.raises(NotStarted, match="permission denied"):
        await written.load().ask(Call.MOUNT, "/x")


async def test_arguments_that_no_program_can_have_begin_nothing(written: WrittenDriver) -> None:
    with pytest.raises(NotStarted, match="null byte"):
        await written.load().ask(Call.MOUNT, "/x\0y")
    with pytest.raises(NotStarted, match="rgument list too long"):
        await written.load().ask(Call.MOUNT, "x" * 200_000)


async def test_secrets_are_shown_nowhere(
    written: WrittenDriver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = {"password": SecretValue(b"hunter2-and-more")}
    options = mount_options(a_use(), a_pod(), secret)
    written.does("mount", 'echo "cannot mount: $3 hunter2-and-more"; exit 1')
    with pytest.raises(VolumeError) as caught:
        await written.load().ask(Call.MOUNT, "/x", options)
    shown = f"{caught.value} {caplog.text} {options!r}"
    assert "hunter2" not in shown
    assert options.secrets[0] not in shown


@pytest.mark.parametrize(
    "password",
    ['hunter2"and\\more', "hunter2-\u00fcber", "hunter2\nand more", "hunter2-more\n"],
)
@pytest.mark.parametrize("escape", [True, False])
async def test_a_secret_that_json_writes_otherwise_is_shown_nowhere(
    written: WrittenDriver, caplog: pytest.LogCaptureFixture, password: str, *, escape: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    options = mount_options(a_use(), a_pod(), {"password": SecretValue(password.encode())})
    told = {"status": "Failure", "message": f"refused: {password.strip()}"}
    (written.home / ".told").write_text(json.dumps(told, ensure_ascii=escape))
    written.does("mount", f"cat {written.home}/.told; exit 1")
    with pytest.raises(VolumeError, match="refused: ") as caught:
        await written.load().ask(Call.MOUNT, "/x", options)
    assert "hunter2" not in f"{caught.value} {caplog.text}"


async def test_a_secret_that_json_writes_otherwise_is_not_shown_of_a_bad_reply(
    written: WrittenDriver,
) -> None:
    password = 'hunter2"and\\more'
    options = mount_options(a_use(), a_pod(), {"password": SecretValue(password.encode())})
    (written.home / ".told").write_text(f"refused: {json.dumps(password)}")
    written.does("mount", f"cat {written.home}/.told; exit 1")
    with pytest.raises(VolumeError, match="bad reply") as caught:
        await written.load().ask(Call.MOUNT, "/x", options)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("password", ["Success", "status", "/dev/sdx"])
async def test_a_secret_that_is_a_word_of_the_answer_changes_nothing(
    written: WrittenDriver, password: str
) -> None:
    options = mount_options(a_use(), a_pod(), {"password": SecretValue(password.encode())})
    written.answers("mount", status="Success", device="/dev/sdx")
    assert await written.load().ask(Call.MOUNT, "/x", options) == Answer(device="/dev/sdx")


async def test_init_tells_the_capabilities(written: WrittenDriver) -> None:
    written.answers("init", status="Success", capabilities={"attach": False})
    driver = await load(NAME, written.program)
    assert not driver.capabilities.attach
    assert driver.capabilities.fs_group


async def test_a_driver_that_cannot_init_is_none(written: WrittenDriver) -> None:
    written.answers("init", status="Not supported")
    with pytest.raises(VolumeError, match="Not supported"):
        await load(NAME, written.program)
