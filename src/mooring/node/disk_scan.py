"""The volumes found in a node's directories: by names only, no volume is entered.

A volume leaves its name in its pod's directory; a device that was mounted or mapped for all pods
leaves it in the plugin's directory, where it may be found even if no pod ever got so far.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

import msgspec

from mooring import log
from mooring.model.wellknown import Plugin
from mooring.plugins.csi import reconstruct
from mooring.plugins.disk_plugin import SHARED
from mooring.plugins.fc import records as fc_records
from mooring.plugins.flex import reconstruct as flex
from mooring.plugins.flex.paths import HOME as FLEX
from mooring.plugins.iscsi import records as iscsi_records
from mooring.plugins.layout import DEVICES, MOUNTS, SUBPATHS, VOLUMES, Layout, unescaped

_log = log.get("mooring.node.reconstruct")

_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR)


class TraceKind(Enum):
    FILES = "files"
    BLOCK = "block"
    PARTS = "parts"  # bound for containers; of a volume that need not have a name elsewhere


class Trace(msgspec.Struct, frozen=True):
    kind: TraceKind
    plugin: str  # "" when unknown, for parts
    name: str  # of the volume's spec
    pod_uid: str = ""  # "" for what all pods share


def scan(layout: Layout) -> tuple[Trace, ...]:
    """Each once, those of pods first. Blocks. What cannot be read is logged, and left out."""
    return tuple(dict.fromkeys((*_of_pods(layout), *_shared(layout))))


def _of_pods(layout: Layout) -> Iterator[Trace]:
    for uid in _names(layout.pods):
        pod = layout.pod(uid)
        for directory, kind in ((VOLUMES, TraceKind.FILES), (DEVICES, TraceKind.BLOCK)):
            for element in _names(pod / directory):
                for name in _names(pod / directory / element):
                    yield Trace(kind, unescaped(element), name, uid)
        for name in _names(pod / SUBPATHS):
            yield Trace(TraceKind.PARTS, "", name, uid)


def _shared(layout: Layout) -> Iterator[Trace]:
    for plugin, directory in _plugins(layout):
        if plugin == Plugin.CSI:  # arranged otherwise
            yield from _csi(layout)
            continue
        if plugin == FLEX:
            yield from _flex(layout)
            continue
        if plugin in (Plugin.ISCSI, Plugin.FC):
            yield from _disks(layout, plugin)
            continue
        for name in _names(directory / MOUNTS):
            yield Trace(TraceKind.FILES, plugin, name)
        for name in _names(directory / DEVICES):
            bound = _names(directory / DEVICES / name)
            if any((directory / DEVICES / name / uid).is_dir() for uid in bound):
                continue  # arranged otherwise: only its plugin knows how
            for uid in bound:
                yield Trace(TraceKind.BLOCK, plugin, name, uid)
            yield Trace(TraceKind.BLOCK, plugin, name)


def _csi(layout: Layout) -> Iterator[Trace]:
    try:
        for one in reconstruct.scan(layout):
            kind = TraceKind.BLOCK if one.is_block else TraceKind.FILES
            yield Trace(kind, Plugin.CSI, one.name, one.pod_uid)
    except OSError as error:
        _log.warning("a directory of volumes cannot be read", path=error.filename, error=error)


def _flex(layout: Layout) -> Iterator[Trace]:
    try:
        for one in flex.scan(layout):
            yield Trace(TraceKind.FILES, one.driver, one.name)
    except OSError as error:
        _log.warning("a directory of volumes cannot be read", path=error.filename, error=error)


def _disks(layout: Layout, plugin: str) -> Iterator[Trace]:
    """Named by their places below the directory of the plugin; see its `rebuild`."""
    top = layout.plugin(plugin)
    records = iscsi_records if plugin == Plugin.ISCSI else fc_records
    found: Iterable[tuple[Path, object]] = records.every(layout)
    for path, _ in found:
        is_block = path.is_relative_to(top / DEVICES)
        place = path.relative_to(top / DEVICES if is_block else top)
        name = str(place) if plugin == Plugin.ISCSI else f"{SHARED}{place}"
        yield Trace(TraceKind.BLOCK if is_block else TraceKind.FILES, plugin, name)


def _plugins(layout: Layout) -> Iterator[tuple[str, Path]]:
    """Names with their directories; some plugins have the slash escaped, most have not."""
    for first in _names(layout.plugins):
        directory = layout.plugins / first
        yield unescaped(first), directory
        for second in _names(directory):
            yield f"{first}/{second}", directory / second


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError as error:
        if error.errno not in _NOTHING_THERE:
            _log.warning("a directory of volumes cannot be read", path=directory, error=error)
        return []
