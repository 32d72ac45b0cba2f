"""Exec plugins, run as real programs: small scripts that print what they are told to."""

import asyncio
import json
import os
import select
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.client import exec_plugin
from mooring.client.credentials import Proof
from mooring.client.exec_plugin import FromPlugin, Plugin
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.errors import UsageError
from mooring.model.secret_value import SecretValue
from mooring.model.timestamp import to_seconds
from tests.fakes.clock import VirtualClock
from tests.unit.client.kubeconfigs import a_kubeconfig, encoded, shown, written

Doc = dict[str, Any]

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


class Login:
    """A plugin that prints the n-th answer when it is run for the n-th time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.program = directory / "login"
        self.program.write_text(
            f"#!{sys.executable}\n"
            "import os, pathlib, sys\n"
            f"here = pathlib.Path({str(directory)!r})\n"
            "runs = here / 'runs'\n"
            "count = len(runs.read_text()) if runs.exists() else 0\n"
            "runs.write_text('x' * (count + 1))\n"
            "(here / 'told').write_text(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "(here / 'arguments').write_text(' '.join(sys.argv[1:]))\n"
            "(here / 'colour').write_text(os.environ.get('COLOUR', ''))\n"
            "answers = sorted(here.glob('answer-*'))\n"
            "sys.stdout.write(answers[min(count, len(answers) - 1)].read_text())\n"
        )
        self.program.chmod(0o700)

    def answers(self, *texts: str) -> None:
        for place, text in enumerate(texts):
            (self._directory / f"answer-{place}").write_text(text)

    @property
    def runs(self) -> int:
        return len((self._directory / "runs").read_text())

    def left(self, name: str) -> str:
        return (self._directory / name).read_text()


def a_credential(version: str = V1, **status: Any) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def an_exec(login: Login, **more: Any) -> Doc:
    plugin = {"apiVersion": V1, "command": str(login.program), "interactiveMode": "Never"}
    return {"exec": plugin | more}


@pytest.fixture
def login(tmp_path: Path) -> Login:
    directory = tmp_path / "bin"
    directory.mkdir()
    return Login(directory)


def source_of(
    directory: Path, user: Doc, cluster: Doc | None = None, clock: VirtualClock | None = None
) -> FromPlugin:
    path = written(directory / "config", a_kubeconfig(cluster, user))
    here = Surroundings({"COLOUR": "blue", "PATH": "/usr/bin:/bin"}, clock or VirtualClock())
    source = find_endpoint(path, here).source
    assert isinstance(source, FromPlugin)
    return source


GIVEN: dict[str, tuple[Doc, tuple[str, str, str]]] = {
    "a token": ({"token": "t1"}, ("t1", "", "")),
    "a certificate and its key": (
        {"clientCertificateData": "C", "clientKeyData": "K"},
        ("", "C", "K"),
    ),
    "both": (
        {"token": "t1", "clientCertificateData": "C", "clientKeyData": "K"},
        ("t1", "C", "K"),
    ),
}


@pytest.mark.parametrize("version", [V1, V1BETA1])
@pytest.mark.parametrize(("status", "then"), GIVEN.values(), ids=GIVEN)
async def test_a_plugin_gives(
    tmp_path: Path, login: Login, version: str, status: Doc, then: tuple[str, str, str]
) -> None:
    login.answers(a_credential(version, **status))
    source = source_of(tmp_path, an_exec(login, apiVersion=version))
    assert shown(await source.proof()) == then


async def test_a_plugin_is_told_what_it_needs(tmp_path: Path, login: Login) -> None:
    login.answers(a_credential(token="t1"))
    user = an_exec(
        login, args=["get", "token"], env=[{"name": "COLOUR", "value": "red"}], installHint="x"
    )
    await source_of(tmp_path, user).proof()
    assert login.left("arguments") == "get token"
    assert login.left("colour") == "red"
    assert json.loads(login.left("told")) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {"interactive": False},
    }


async def test_the_environment_is_passed_on(tmp_path: Path, login: Login) -> None:
    login.answers(a_credential(token="t1"))
    await source_of(tmp_path, an_exec(login)).proof()
    assert login.left("colour") == "blue"


async def test_a_plugin_that_asks_is_told_of_the_cluster(tmp_path: Path, login: Login) -> None:
    login.answers(a_credential(token="t1"))
    cluster = {
        "certificate-authority-data": encoded("CA"),
        "tls-server-name": "api.internal",
        "extensions": [
            {"name": "other", "extension": {"a": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
        ],
    }
    await source_of(tmp_path, an_exec(login, provideClusterInfo=True), cluster).proof()
    assert json.loads(login.left("told"))["spec"]["cluster"] == {
        "server": "https://example.com:6443",
        "tls-server-name": "api.internal",
        "certificate-authority-data": encoded("CA"),
        "config": {"audience": "x"},
    }


async def test_what_a_plugin_gave_is_kept(tmp_path: Path, login: Login) -> None:
    login.answers(a_credential(token="t1"), a_credential(token="t2"))
    source = source_of(tmp_path, an_exec(login))
    assert await source.proof() is await source.proof()
    assert login.runs == 1


async def test_what_has_expired_is_fetched_anew(tmp_path: Path, login: Login) -> None:
    clock = VirtualClock()
    end = to_seconds(clock.now() + timedelta(minutes=10))
    login.answers(a_credential(token="t1", expirationTimestamp=end), a_credential(token="t2"))
    source = source_of(tmp_path, an_exec(login), clock=clock)
    assert shown(await source.proof())[0] == "t1"
    await clock.advance(599)
    assert shown(await source.proof())[0] == "t1"
    await clock.advance(1)
    assert shown(await source.proof())[0] == "t2"


async def test_what_the_server_refused_is_fetched_anew(tmp_path: Path, login: Login) -> None:
    login.answers(a_credential(token="t1"), a_credential(token="t2"))
    source = source_of(tmp_path, an_exec(login))
    refused = await source.proof()
    assert source.has_better(refused)
    fresh = await source.proof()
    assert shown(fresh)[0] == "t2"
    assert source.has_better(refused)  # by somebody who still had the old one
    assert await source.proof() is fresh


async def test_a_command_with_a_slash_is_relative_to_its_kubeconfig(
    tmp_path: Path, login: Login
) -> None:
    login.answers(a_credential(token="t1"))
    source = source_of(tmp_path, an_exec(login, command="./bin/login"))
    assert shown(await source.proof())[0] == "t1"


FAULTS: dict[str, tuple[str, str]] = {
    "no JSON": ("hidden", r"printed no ExecCredential \(DecodeError\)"),
    "another type": (a_credential(token=7), r"printed no ExecCredential \(ValidationError\)"),
    "another kind": ('{"kind":"Pod","apiVersion":"v1"}', "printed Pod of v1, not ExecCredential"),
    "another version": (a_credential(V1BETA1, token="t"), f"printed ExecCredential of {V1BETA1}"),
    "nothing": (a_credential(), "printed neither a token nor a certificate"),
    "half a pair": (
        a_credential(clientCertificateData="C", token="hidden"),
        "printed a certificate or a key, not both",
    ),
}


@pytest.mark.parametrize(("printed", "words"), FAULTS.values(), ids=FAULTS)
async def test_a_plugin_that_prints(tmp_path: Path, login: Login, printed: str, words: str) -> None:
    login.answers(printed)
    with pytest.raises(UsageError, match=words) as told:
        await source_of(tmp_path, an_exec(login)).proof()
    assert "hidden" not in str(told.value)


async def test_a_plugin_that_fails_is_quoted(tmp_path: Path) -> None:
    program = written(tmp_path / "fail", "#!/bin/sh\necho trying >&2\necho no luck >&2\nexit 3\n")
    program.chmod(0o700)
    plugin = {"apiVersion": V1BETA1, "command": str(program)}
    with pytest.raises(UsageError, match="fail ended with 3: no luck"):
        await source_of(tmp_path, {"exec": plugin}).proof()


async def test_a_plugin_that_is_not_there_has_a_hint(tmp_path: Path) -> None:
    plugin = {"apiVersion": V1BETA1, "command": "no-such-plugin"}
    hint = {"installHint": "get it\n  from \x1b[1mthe shop"}
    with pytest.raises(UsageError) as told:
        await source_of(tmp_path, {"exec": plugin | hint}).proof()
    assert str(told.value) == (
        "the exec plugin no-such-plugin is not there; get it from [1mthe shop"
    )
    with pytest.raises(UsageError, match="install it, or correct `command`"):
        await source_of(tmp_path, {"exec": plugin}).proof()


async def test_a_plugin_that_may_not_be_run(tmp_path: Path) -> None:
    program = written(tmp_path / "locked", "#!/bin/sh\n")
    plugin = {"apiVersion": V1BETA1, "command": str(program)}
    with pytest.raises(UsageError, match="cannot be run: Permission denied"):
        await source_of(tmp_path, {"exec": plugin}).proof()


async def test_a_plugin_that_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_plugin, "LONGEST_RUN", 0.05)
    program = written(tmp_path / "hang", "#!/bin/sh\nexec tail -f /dev/null\n")
    program.chmod(0o700)
    plugin = {"apiVersion": V1BETA1, "command": str(program)}
    with pytest.raises(UsageError, match="did not end in 0 seconds"):
        await source_of(tmp_path, {"exec": plugin}).proof()


ENDLESS = {
    "a plugin that prints without end": ("exec yes", 60.0, "printed more than 1048576 bytes"),
    "a plugin that complains without end": ("exec yes >&2", 0.3, "did not end in 0 seconds"),
    "a plugin whose child keeps its output open": (
        "tail -f /dev/null & exec tail -f /dev/null",
        0.3,
        "did not end in 0 seconds",
    ),
}


@pytest.mark.parametrize(("script", "seconds", "words"), ENDLESS.values(), ids=ENDLESS)
async def test_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, seconds: float, words: str
) -> None:
    monkeypatch.setattr(exec_plugin, "LONGEST_RUN", seconds)
    held = tmp_path / "held"  # open for writing in whatever the plugin starts
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    program = written(tmp_path / "endless", f"#!/bin/sh\nexec 9>{held}\n{script}\n")
    program.chmod(0o700)
    plugin = {"apiVersion": V1BETA1, "command": str(program)}
    with pytest.raises(UsageError, match=words):
        await source_of(tmp_path, {"exec": plugin}).proof()
    has_none = await asyncio.to_thread(_has_no_writers, reader)
    os.close(reader)
    assert has_none


def _has_no_writers(reader: int) -> bool:
    close_watch = select.poll()
    close_watch.register(reader, 0)
    try:
        return os.read(reader, 1) == b""
    except BlockingIOError:  # killed, and on their way out
        return bool(close_watch.poll(10_000))


async def test_a_plugin_that_leaves_a_child_behind_has_answered_all_the_same(
    tmp_path: Path,
) -> None:
    answer = written(tmp_path / "answer", a_credential(V1BETA1, token="t"))
    script = f"#!/bin/sh\ntail -f /dev/null &\ncat {answer}\n"
    program = written(tmp_path / "leaves", script)
    program.chmod(0o700)
    plugin = {"apiVersion": V1BETA1, "command": str(program)}
    proof = await source_of(tmp_path, {"exec": plugin}).proof()
    assert proof.token == SecretValue(b"t")


def test_what_a_plugin_is_given_does_not_show() -> None:
    plugin = msgspec.convert(
        {"command": "x", "env": [{"name": "PASSWORD", "value": "hidden"}]},
        Plugin,
        dec_hook=exec_plugin.read_secret,
    )
    assert "hidden" not in repr(plugin)
    assert "hidden" not in repr(Proof(SecretValue(b"hidden")))
