"""The device mounts of FlexVolumes that are on disk: names only. Blocks."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mooring.plugins.flex.paths import HOME
from mooring.plugins.layout import MOUNTS, Layout


class FlexTrace(msgspec.Struct, frozen=True):
    driver: str
    name: str  # of the volume's spec


def scan(layout: Layout) -> Iterator[FlexTrace]:
    """Raises: OSError."""
    home = layout.plugin(HOME)
    for first in _names(home):
        for name in _names(home / first / MOUNTS):
            yield FlexTrace(first, name)
        for second in _names(home / first):
            for name in _names(home / first / second / MOUNTS):
                yield FlexTrace(f"{first}/{second}", name)


def _names(directory: Path) -> list[str]:
    """Without what is kept beside them (`records.py`)."""
    try:
        return sorted(name for name in os.listdir(directory) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
