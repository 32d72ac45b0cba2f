"""How the shim is called."""

import os
from pathlib import Path

import pytest

from mooring.oci import conmon
from mooring.oci.conmon import News
from mooring.oci.contract import RuntimeRefused, Size
from mooring.oci.records import ContainerDirectory
from mooring.oci.runc import Runc, RuntimeProgram
from tests.unit.oci.specs import ID, a_spec

PROGRAM = RuntimeProgram(path=Path("/sbin/runc"), conmon=Path("/bin/conmon"))
PLACE = ContainerDirectory(Path("/node/containers") / ID)


def words(**changes: object) -> list[str]:
    return conmon.argv(PROGRAM, Runc(PROGRAM, Path("/run/m"), 1), PLACE, a_spec(**changes))


def test_a_container_has_a_shim_with_its_log() -> None:
    assert words() == [
        *("/bin/conmon", "--api-version", "1", "--full-attach", "--log-level", "error"),
        *("--cid", ID, "--cuuid", ID, "--bundle", f"/node/containers/{ID}"),
        *("--runtime", "/sbin/runc", "--runtime-arg=--root", "--runtime-arg=/run/m"),
        *("--runtime-arg=--log-format", "--runtime-arg=json"),
        *("--name", "web_main", "--persist-dir", f"/node/containers/{ID}"),
        *("--container-pidfile", f"/node/containers/{ID}/pid"),
        *("--conmon-pidfile", f"/node/containers/{ID}/conmon.pid"),
        *("--log-path", "k8s-file:/logs/main/0.log", "--log-size-max", str(conmon.LOG_LIMIT)),
        "--no-sync-log",
    ]


INPUTS: dict[str, tuple[dict[str, object], list[str]]] = {
    "none": ({}, []),
    "open for all who attach": ({"has_stdin": True}, ["--stdin", "--leave-stdin-open"]),
    "closed with the first": (
        {"has_stdin": True, "closes_stdin_after_first": True},
        ["--stdin"],
    ),
    "a terminal": (
        {"has_stdin": True, "has_tty": True},
        ["--stdin", "--leave-stdin-open", "--terminal"],
    ),
}


@pytest.mark.parametrize(("changes", "expected"), INPUTS.values(), ids=INPUTS)
def test_input(changes: dict[str, object], expected: list[str]) -> None:
    assert words(**changes) == words() + expected


def test_a_log_with_a_colon_in_its_path_would_go_elsewhere() -> None:
    with pytest.raises(RuntimeRefused, match="must not hold a colon"):
        words(log_path=Path("/logs/a:b"))


NEWS = {
    "a pid": (b'{"data": 77}\n', News(77)),
    "a complaint": (b'{"data": -1, "message": "no\\n"}\n', News(-1, "no\n")),
    "an end without a word": (b"", None),
    "something else": (b"oops\n", None),
}


@pytest.mark.parametrize(("line", "news"), NEWS.values(), ids=NEWS)
def test_news(line: bytes, news: News | None) -> None:
    assert conmon.read_news(line) == news


def test_a_shim_is_told_through_its_pipe_and_one_that_is_gone_does_not_mind(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / conmon.CONTROL)
    conmon.resize(tmp_path, Size(80, 24))
    reader = os.open(tmp_path / conmon.CONTROL, os.O_RDONLY | os.O_NONBLOCK)
    conmon.resize(tmp_path, Size(columns=80, rows=24))
    conmon.reopen_log(tmp_path)
    assert os.read(reader, 100) == b"1 24 80\n2 0 0\n"
    os.close(reader)
