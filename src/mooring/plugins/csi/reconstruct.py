"""What the CSI plugin has left in its own directory: names only. Blocks.

A volume may be staged, or its device published, before a pod's directory shows it; a restart in
between finds it here.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from mooring.plugins.csi import data_file
from mooring.plugins.csi.paths import PUBLISH, STAGING, CsiPaths
from mooring.plugins.layout import DEVICES, Layout, unescaped

SEPARATOR: Final = "/"
"""Between a driver and the name of a staging directory; no volume object has one in its name."""


class CsiTrace(msgspec.Struct, frozen=True):
    name: str  # of the volume's spec; of a staged one `staged_name`
    is_block: bool = False
    pod_uid: str = ""


def staged_name(driver: str, directory: str) -> str:
    return f"{driver}{SEPARATOR}{directory}"


def find_staged(paths: CsiPaths, name: str) -> Path | None:
    """The directory that `staged_name` names; None: it names a volume object."""
    driver, separator, directory = name.partition(SEPARATOR)
    return paths.drivers / driver / directory if separator else None


def scan(layout: Layout) -> Iterator[CsiTrace]:
    """Raises: OSError."""
    paths = CsiPaths(layout)
    yield from _staged(paths)
    yield from _devices(paths)


def _staged(paths: CsiPaths) -> Iterator[CsiTrace]:
    for driver in _names(paths.drivers):
        if driver == DEVICES:
            continue
        for directory in _names(paths.drivers / driver):
            if (paths.drivers / driver / directory / data_file.NAME).exists():
                yield CsiTrace(staged_name(driver, directory))


def _devices(paths: CsiPaths) -> Iterator[CsiTrace]:
    for element in _names(paths.devices):
        name = unescaped(element)
        if element in (STAGING, PUBLISH) or not paths.block_data(name).exists():
            continue
        for directory in (paths.block_map(name), paths.block_publishes(name)):
            for pod_uid in _names(directory):
                yield CsiTrace(name, is_block=True, pod_uid=pod_uid)
        yield CsiTrace(name, is_block=True)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
