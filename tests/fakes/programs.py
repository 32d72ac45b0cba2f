"""Programs of our own in front of those of the system: scripts that behave as a test tells."""

import os
import shutil
from pathlib import Path

import pytest

from mooring.host import command


class FakePrograms:
    """A directory of scripts, first in PATH. Each run of one is a line of `runs`."""

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._patch = patch
        self._log = directory / "log"
        self._log.touch()
        patch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")

    def add(self, name: str, script: str) -> None:
        """A shell script that first notes how it was called."""
        path = self._directory / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self._log}\n{script}\n')
        path.chmod(0o755)

    def only_these(self) -> None:
        """Hide the programs of the system, but the shell and what scripts need."""
        for name in ("sh", "sleep", "cat"):
            found = shutil.which(name)
            assert found is not None
            (self._directory / name).symlink_to(found)
        self._patch.setenv("PATH", str(self._directory))
        self._patch.setattr(command, "SYSTEM_DIRS", ())

    def runs(self) -> list[str]:
        """How the programs were called, in order."""
        return self._log.read_text().splitlines()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    directory = tmp_path / "programs"
    directory.mkdir()
    return FakePrograms(directory, monkeypatch)
