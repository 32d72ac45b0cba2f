"""Plugin registration v1, both ends: the node agent asks, a registrar answers."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import zip_longest
from pathlib import Path

import msgspec

from mooring.csi.channel import Connection, method, read_nothing
from mooring.csi.outcome import Outcome
from mooring.csi.proto import pluginregistration_pb2 as wire
from mooring.csi.serve import serving
from mooring.errors import MooringError

CSI_PLUGIN = "CSIPlugin"
OFFERED_VERSIONS = ("1.0.0",)  # what every registrar of CSI drivers says

_SERVICE = wire.DESCRIPTOR.services_by_name["Registration"]
_GET_INFO = method(_SERVICE, "GetInfo", wire.InfoRequest, wire.PluginInfo)
_NOTIFY = method(
    _SERVICE,
    "NotifyRegistrationStatus",
    wire.RegistrationStatus,
    wire.RegistrationStatusResponse,
)
_VERSION = re.compile(r"\s*v?([0-9]+(?:\.[0-9]+)*)")


class Plugin(msgspec.Struct, frozen=True):
    """What is behind a registration socket, as it says itself."""

    type: str
    name: str
    endpoint: str  # empty: the registration socket itself
    versions: tuple[str, ...]

    def endpoint_at(self, socket: str) -> str:
        return self.endpoint or socket


class RegistrationStatus(msgspec.Struct, frozen=True):
    registered: bool
    error: str = ""


class Registration:
    """The node agent's end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get_info(self, *, within: float) -> Outcome[Plugin]:
        return await self._connection.call(_GET_INFO, wire.InfoRequest, _read_plugin, within=within)

    async def notify(self, status: RegistrationStatus, *, within: float) -> Outcome[None]:
        def build() -> wire.RegistrationStatus:
            return wire.RegistrationStatus(plugin_registered=status.registered, error=status.error)

        return await self._connection.call(_NOTIFY, build, read_nothing, within=within)


@asynccontextmanager
async def offering(
    socket: Path, plugin: Plugin, told: Callable[[RegistrationStatus], None]
) -> AsyncIterator[None]:
    """A registrar's end: serve `plugin` on `socket`; `told` hears what the node agent decides.

    Raises: UsageError when the socket cannot be had.
    """
    async with serving(socket, {_SERVICE: _Registrar(plugin, told)}):
        yield


def registration_socket(directory: Path, driver: str) -> Path:
    return directory / f"{driver}-reg.sock"


class _Registrar:
    def __init__(self, plugin: Plugin, told: Callable[[RegistrationStatus], None]) -> None:
        self._plugin = plugin
        self._told = told

    async def GetInfo(self, _: wire.InfoRequest, __: object) -> wire.PluginInfo:
        return wire.PluginInfo(
            type=self._plugin.type,
            name=self._plugin.name,
            endpoint=self._plugin.endpoint,
            supported_versions=self._plugin.versions,
        )

    async def NotifyRegistrationStatus(
        self, request: wire.RegistrationStatus, _: object
    ) -> wire.RegistrationStatusResponse:
        self._told(RegistrationStatus(request.plugin_registered, request.error))
        return wire.RegistrationStatusResponse()


def _read_plugin(reply: wire.PluginInfo) -> Plugin:
    return Plugin(reply.type, reply.name, reply.endpoint, tuple(reply.supported_versions))


class UnsupportedVersions(MooringError):
    """A plugin offers no version that we speak. The text is the one that node agents give."""


class Version(msgspec.Struct, frozen=True):
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))

    def is_below(self, other: "Version") -> bool:
        pairs = list(zip_longest(self.numbers, other.numbers, fillvalue=0))
        return [mine for mine, _ in pairs] < [theirs for _, theirs in pairs]


def highest_version(offered: Sequence[str]) -> Version:
    """The highest 1.x among what a plugin offers; what cannot be read or is above is passed over.

    Raises: UnsupportedVersions.
    """
    highest: Version | None = None
    trouble = "<nil>"
    for text in reversed(offered):
        version = _find_version(text)
        if isinstance(version, str):
            trouble = version
        elif version.numbers[0] <= 1 and (highest is None or highest.is_below(version)):
            highest = version
    if highest is None:
        raise UnsupportedVersions(
            f"could not find a highest supported version from versions ([{' '.join(offered)}])"
            f" reported: {trouble}"
            if offered
            else "empty array for supported versions"
        )
    if highest.numbers[0] != 1:
        raise UnsupportedVersions(f"highest supported version reported is {highest}, must be v1.x")
    return highest


def _find_version(text: str) -> Version | str:
    """The version, or what is wrong with the text."""
    match = _VERSION.match(text)
    if match is None:
        return f'could not parse "{text}" as version'
    numbers = match[1].split(".")
    if len(numbers) < 2:
        return f'illegal version string "{text}"'
    if numbers[0].startswith("0") and numbers[0] != "0":
        return f'illegal zero-prefixed version component "{numbers[0]}" in "{text}"'
    return Version(tuple(map(int, numbers)))
