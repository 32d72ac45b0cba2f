"""`make up` for the first time, by two people at once."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 60
PYTHON = """#!/bin/sh
# A Python that notes what is installed instead of installing it.
case "$1 $2" in
  "-m venv") echo venv >> notes; mkdir -p .venv/bin; sleep 0.5; cp "$0" .venv/bin/python ;;
  "-m pip") echo "$*" >> notes; sleep 0.5 ;;
  *) exec {python} "$@" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    source = Path(__file__).parents[2]
    shutil.copy(source / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    python = tmp_path / "python"
    python.write_text(PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    return tmp_path


def make(checkout: Path, target: str) -> "subprocess.Popen[str]":
    line = ["make", target, f"PYTHON={checkout}/python"]
    return subprocess.Popen(line, cwd=checkout, stderr=subprocess.PIPE, text=True)  # noqa: S603


def test_two_at_once_install_everything_once(checkout: Path) -> None:
    both = [make(checkout, "setup") for _ in range(2)]
    for running in both:
        _, complaints = running.communicate(timeout=SECONDS)
        assert running.returncode == 0, complaints
    venv, upgrade, install = (checkout / "notes").read_text().splitlines()
    assert venv == "venv"
    assert "--upgrade" in upgrade
    assert "--editable" in install


def test_a_later_one_installs_nothing_before_the_project_changes(checkout: Path) -> None:
    first = make(checkout, "setup")
    first.communicate(timeout=SECONDS)
    before = (checkout / "notes").read_text()
    second = make(checkout, "setup")
    second.communicate(timeout=SECONDS)
    assert (first.returncode, second.returncode) == (0, 0)
    assert (checkout / "notes").read_text() == before
