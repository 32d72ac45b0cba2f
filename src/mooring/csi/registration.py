"""Plugin registration v1, both ends: the node agent asks, a registrar answers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.csi.channel import Connection, method, read_nothing
from mooring.csi.outcome import Outcome
from mooring.csi.plugin_info import Plugin, RegistrationStatus
from mooring.csi.proto import pluginregistration_pb2 as wire
from mooring.csi.serve import serving
from mooring.errors import UsageError

_SERVICE = wire.DESCRIPTOR.services_by_name["Registration"]
_GET_INFO = method(_SERVICE, "GetInfo", wire.InfoRequest, wire.PluginInfo)
_NOTIFY = method(
    _SERVICE,
    "NotifyRegistrationStatus",
    wire.RegistrationStatus,
    wire.RegistrationStatusResponse,
)


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
    """The registrar's side: serve `plugin` on `socket`; `told` is called with the kubelet's
    decision.

    At the end the socket goes, unless another registrar has put its own there: that would
    unregister a driver that somebody still offers.
    Raises: UsageError when the socket cannot be created.
    """
    made = _draft_of(socket)  # gRPC removes at its end what has the name it listens on
    async with serving(made, {_SERVICE: _Registrar(plugin, told)}):
        try:
            made.rename(socket)
        except OSError as error:
            raise UsageError(f"cannot listen on {socket}: {error.strerror}") from error
        ours = _identity(socket)
        try:
            yield
        finally:
            _remove(socket, ours)


def registration_socket(directory: Path, driver: str) -> Path:
    return directory / f"{driver}-reg.sock"


def longest_registration_socket(directory: Path, driver: str) -> Path:
    """The longest path that a registrar listens on."""
    return _draft_of(registration_socket(directory, driver))


def _draft_of(socket: Path) -> Path:
    """The kubelet passes over names that begin with a dot."""
    return socket.with_name(f".{socket.name}")


def _remove(socket: Path, ours: tuple[int, int] | None) -> None:
    if ours is not None and _identity(socket) == ours:
        socket.unlink(missing_ok=True)


def _identity(socket: Path) -> tuple[int, int] | None:
    try:
        found = socket.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
