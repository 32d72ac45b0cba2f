"""Which sockets to register or unregister, and whether a driver may register. Pure.

What is always true:

- A socket that is there, and did not register as this very socket, is asked to; one that is gone
  is unregistered; and nothing follows from a socket that is as it was.
- Only CSI drivers get through, with a name that can be part of a path, and a version we speak.
- A name belongs to one socket: another gets it only with a higher version than the first has.
- A rejection carries the reason, in the kubelet's words.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from mooring.csi.plugin_info import (
    CSI_PLUGIN,
    Plugin,
    UnsupportedVersions,
    Version,
    highest_version,
)
from mooring.model.names import csi_driver_name
from mooring.model.wellknown import Plugin as Name
from mooring.node.registration.plan import Register, SocketId, Step, Unregister


class Registered(msgspec.Struct, frozen=True):
    """A driver that got through."""

    socket: Path
    identity: SocketId | None  # None: to be asked anew
    name: str
    endpoint: str
    version: Version


class View(msgspec.Struct, frozen=True):
    """One path."""

    socket: Path
    seen: SocketId | None  # None: there is no socket
    registered: Registered | None


def decide(view: View) -> Step | None:
    if view.seen is None:
        return None if view.registered is None else Unregister(view.socket)
    if view.registered is not None and view.registered.identity == view.seen:
        return None
    return Register(view.socket, view.seen)


class Accepted(msgspec.Struct, frozen=True):
    version: Version


class Rejected(msgspec.Struct, frozen=True):
    text: str  # sent to the socket


def judge(plugin: Plugin, socket: Path, others: Iterable[Registered]) -> Accepted | Rejected:
    """Whether what calls itself so may register, beside what other sockets have brought."""
    if plugin.type != CSI_PLUGIN:
        return _rejected(f"no handler registered for plugin type: {plugin.type} at socket {socket}")
    if problem := "; ".join(csi_driver_name(plugin.name)):
        return _invalid(plugin, socket, f'"{plugin.name}" is no name for a CSI driver: {problem}')
    failed = f'{Name.CSI}: ValidatePlugin for CSI driver "{plugin.name}" failed. '
    if not plugin.versions:
        text = f"{failed}Plugin returned an empty list for supported versions"
        return _invalid(plugin, socket, text)
    try:
        version = highest_version(plugin.versions)
    except UnsupportedVersions as error:
        shown = " ".join(f'"{one}"' for one in plugin.versions)
        text = f"{failed}None of the versions specified [{shown}] are supported. err={error}"
        return _invalid(plugin, socket, text)
    for other in others:
        if other.name == plugin.name and not other.version.is_below(version):
            text = (
                f"{failed}Another driver with the same name is already registered with a higher "
                f'supported version: "{other.version}"'
            )
            return _invalid(plugin, socket, text)
    return Accepted(version)


def _invalid(plugin: Plugin, socket: Path, text: str) -> Rejected:
    endpoint = plugin.endpoint_at(str(socket))
    why = f"validation failed for CSI Driver {plugin.name} at endpoint {endpoint}: {text}"
    return _rejected(f"plugin validation failed with err: {why}")


def _rejected(text: str) -> Rejected:
    return Rejected(f"RegisterPlugin error -- {text}")
