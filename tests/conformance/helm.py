"""Helm, as a user runs it."""

import os
import subprocess
from pathlib import Path


class Helm:
    def __init__(self, program: Path, home: Path, kubeconfig: Path) -> None:
        self._program = program
        self._home = home
        self._kubeconfig = kubeconfig

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603  the program that was built
            [self._program, *words],
            env={**os.environ, "HOME": str(self._home), "KUBECONFIG": str(self._kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )

    def __call__(self, *words: str | Path) -> str:
        ran = self.run(*words)
        assert ran.returncode == 0, f"helm {words}\n{ran.stdout}{ran.stderr}"
        return ran.stdout
