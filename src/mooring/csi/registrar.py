"""Serving the registration socket of a driver for as long as the node agent wants it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring import log
from mooring.csi.plugin_info import CSI_PLUGIN, OFFERED_VERSIONS, Plugin, RegistrationStatus
from mooring.csi.registration import offering, registration_socket
from mooring.errors import MooringError

_log = log.get("mooring.registrar")


class NotRegistered(MooringError):
    """The node agent refused the driver; it does not ask again before the socket is a new one."""


class Offer(msgspec.Struct, frozen=True):
    driver: str
    endpoint: str  # the driver's socket, as the node agent sees it
    directory: Path  # that the node agent watches


def _unheard() -> None:
    """Told to nobody."""


async def run(offer: Offer, on_registered: Callable[[], None] = _unheard) -> None:
    """Serve until cancelled, and take the socket away then; while another registrar of the driver
    serves, wait for its end.

    Raises: NotRegistered, UsageError.
    """
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def told(status: RegistrationStatus) -> None:
        if status.registered:
            _log.info("driver registered", driver=offer.driver)
            on_registered()
        elif not refused.done():
            refused.set_result(status.error)

    plugin = Plugin(CSI_PLUGIN, offer.driver, offer.endpoint, OFFERED_VERSIONS)
    socket = registration_socket(offer.directory, offer.driver)
    await _until_vacant(socket, offer.driver)
    async with offering(socket, plugin, told):
        _log.info("offering a driver", driver=offer.driver, at=socket)
        reason = await refused
    raise NotRegistered(f"{offer.driver} was not registered: {reason}")


async def _until_vacant(socket: Path, driver: str) -> None:
    """Return when nobody serves there: two registrars would unregister each other's driver."""
    is_told = False
    while True:
        try:
            reader, writer = await asyncio.open_unix_connection(socket)
        except OSError:
            return  # nothing is there, or what an earlier process left behind
        if not is_told:
            _log.info("waiting for another registrar to end", driver=driver, at=socket)
            is_told = True
        try:
            with suppress(OSError):
                await reader.read()  # to its end; a registrar that hears no request ends it too
        finally:
            writer.close()
