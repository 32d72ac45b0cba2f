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
from mooring.plugins.csi.places import PUBLISH, STAGING, Places
from mooring.plugins.layout import DEVICES, Layout, unescaped

SEPARATOR: Final = "/"
"""Between a driver and the name of a staging directory; no volume object has one in its name."""


class CsiTrace(msgspec.Struct, frozen=True):
    name: str  # of the volume's spec; of a staged one `staged_name`
    is_block: bool = False
    pod_uid: str = ""


def staged_name(driver: str, directory: str) -> str:
    return f"{driver}{SEPARATOR}{directory}"


def find_staged(places: Places, name: str) -> Path | None:
    """The directory that `staged_name` names; None: it names a volume object."""
    driver, separator, directory = name.partition(SEPARATOR)
    return places.drivers / driver / directory if separator else None


def scan(layout: Layout) -> Iterator[CsiTrace]:
    """Raises: OSError."""
    places = Places(layout)
    yield from _staged(places)
    yield from _devices(places)


def _staged(places: Places) -> Iterator[CsiTrace]:
    for driver in _names(places.drivers):
        if driver == DEVICES:
            continue
        for directory in _names(places.drivers / driver):
            if (places.drivers / driver / directory / data_file.NAME).exists():
                yield CsiTrace(staged_name(driver, directory))


def _devices(places: Places) -> Iterator[CsiTrace]:
    for element in _names(places.devices):
        name = unescaped(element)
        if element in (STAGING, PUBLISH) or not places.block_data(name).exists():
            continue
        for directory in (places.block_map(name), places.block_publishes(name)):
            for pod_uid in _names(directory):
                yield CsiTrace(name, is_block=True, pod_uid=pod_uid)
        yield CsiTrace(name, is_block=True)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
