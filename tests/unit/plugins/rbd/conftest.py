"""A played `rbd`, first in PATH."""

import os
from pathlib import Path

import pytest

from tests.fakes.rbd_program import RbdProgram


@pytest.fixture
def rbd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RbdProgram:
    program = RbdProgram(tmp_path / "ceph")
    monkeypatch.setenv("PATH", f"{program.bin}{os.pathsep}{os.environ['PATH']}")
    return program
