"""`mooring install-service`, and what a service manager hears of `mooring up`."""

import os
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.clients.mooring_command import done, mooring, refused
from tests.fakes.real_server import RealServer

HARD = 'my 100% $HOME "data"'


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where those of this user go."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "systemd" / "user"


def test_it_writes_a_unit_says_what_to_type_and_takes_it_away(units: Path, tmp_path: Path) -> None:
    said = done("install-service", "--user", "--data-dir", tmp_path / "d", "--port", "7443")
    file = units / "mooring.service"
    assert said.splitlines()[:3] == [
        f"wrote {file}; now run:",
        "  systemctl --user daemon-reload",
        "  systemctl --user enable --now mooring",
    ]
    assert f" up --data-dir={tmp_path / 'd'} --port=7443\n" in file.read_text()
    said = done("install-service", "--user", "--uninstall")
    assert said == f"removed {file}; now run: systemctl --user daemon-reload\n"
    assert os.listdir(units) == []
    assert refused("install-service", "--user", "--uninstall") == f"there is no {file}"


def test_a_unit_of_somebody_else_stays(units: Path) -> None:
    units.mkdir(parents=True)
    (units / "mooring.service").write_text("[Unit]\n")
    line = refused("install-service", "--user")
    assert line.endswith("and not of mooring: choose another name with --unit")
    done("install-service", "--user", "--unit", "other")
    assert (units / "mooring.service").read_text() == "[Unit]\n"


def test_flags_are_those_of_up_paths_are_absolute_and_the_environment_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOORING_UP_NODE_NAME", "n1")
    given = ("--no-host-rootfs", "--name", "a", "--name", "b", "--root-dir", "r")
    (line,) = [
        line
        for line in done("install-service", "--print", "--data-dir", "d", *given).splitlines()
        if line.startswith("ExecStart=")
    ]
    words = shlex.split(line.removeprefix("ExecStart="))
    assert words[1:6] == ["-P", "-m", "mooring", "up", f"--data-dir={tmp_path / 'd'}"]
    assert sorted(words[6:]) == [
        "--name=a",
        "--name=b",
        "--no-host-rootfs",
        "--node-name=n1",
        f"--root-dir={tmp_path / 'r'}",
    ]
    ended = mooring("install-service", "--print", "--colour", "blue")
    assert ended.returncode == 2
    assert "No such option: --colour" in ended.stderr
    assert mooring("install-service", "--print", "--port", "many").returncode == 2


@pytest.mark.parametrize("flags", [(), ("--no-node",), ("--user",)], ids=" ".join)
def test_systemd_understands_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    unit = tmp_path / "mooring.service"
    unit.write_text(done("install-service", "--print", "--data-dir", tmp_path / HARD, *flags))
    whose = [flag for flag in flags if flag == "--user"]
    run = [analyze, *whose, "--recursive-errors=no", "verify", str(unit)]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    complaints = [line for line in ended.stderr.splitlines() if "mooring" in line]
    assert (ended.returncode, complaints) == (0, [])


def test_systemd_hears_when_it_is_ready_and_when_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "s"))
        heard.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "s"))
        server = RealServer(tmp_path / "data")
        server.start()
        try:
            told = heard.recv(1000).decode()
            assert told == f"READY=1\nSTATUS=ready at https://127.0.0.1:{server.port}"
        finally:
            assert server.stop() == 0
        assert heard.recv(1000) == b"STOPPING=1"
