"""The Helm chart as `helm package` would write it, with the version of the package in it."""

import re
from pathlib import Path

from release.archive import below, compressed, tar

_VERSIONS = re.compile(r"^(version|appVersion): .*$", re.MULTILINE)


def write(source: Path, dist: Path, version: str, epoch: int) -> Path:
    """The chart in the tree has version 0.0.0; the version stands in one place alone."""
    entries = []
    for entry in below(source, "mooring/"):
        if entry.is_directory:
            continue  # helm packages files
        content = entry.content
        if entry.name == "mooring/Chart.yaml":
            content = stamped(content.decode(), version).encode()
        entries.append(type(entry)(entry.name, content))
    file = dist / f"mooring-chart-{version}.tgz"
    file.write_bytes(compressed(tar(entries, epoch)))
    return file


def stamped(chart: str, version: str) -> str:
    return _VERSIONS.sub(rf'\1: "{version}"', chart)
