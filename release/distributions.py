"""Wheel and sdist, by hatchling, which reads the version out of `mooring/__init__.py`."""

import os
import subprocess
import sys
from pathlib import Path


def build(root: Path, dist: Path, epoch: int) -> Path:
    """After: both are in `dist`. The answer is the wheel, which runs on every machine."""
    subprocess.run(  # noqa: S603  a command of this file
        [sys.executable, "-m", "hatchling", "build", "-d", str(dist)],
        cwd=root,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (wheel,) = dist.glob("*-py3-none-any.whl")
    return wheel
