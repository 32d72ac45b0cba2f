"""A pod as its fake node sees it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from mooring.model.pod import Pod

EXIT_CODE = "testing.mooring.dev/exit-code"
RUNS_FOR = "testing.mooring.dev/runs-for"
"""Annotations of a pod: the exit code of its containers, and their life in seconds (`30`)."""


class Script(msgspec.Struct, frozen=True):
    """What becomes of a pod's containers."""

    exit_code: int = 0
    runs_for: float | None = None  # None: until it is deleted, or no time if it has an end
    trouble: str = ""  # an annotation that cannot be understood


class View(msgspec.Struct, frozen=True):
    pod: Pod
    script: Script
    ip: str
    now: datetime


def script_of(annotations: Mapping[str, str]) -> Script:
    code, seconds = annotations.get(EXIT_CODE), annotations.get(RUNS_FOR)
    try:
        return Script(int(code or 0), None if seconds is None else max(0.0, float(seconds)))
    except ValueError:
        return Script(trouble=f"{EXIT_CODE} and {RUNS_FOR} are numbers: {code!r}, {seconds!r}")
