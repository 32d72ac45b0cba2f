"""Talking to what is behind a registration socket, and to the driver that it names."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.csi.channel import Connection
from mooring.csi.identity import Identity
from mooring.csi.node import Node
from mooring.csi.outcome import Done
from mooring.csi.plugin_info import Plugin, RegistrationStatus
from mooring.csi.registration import Registration
from mooring.csi.requests import NodeInfo
from mooring.errors import MooringError

CONNECT_SECONDS = 2.0
INFO_SECONDS = 1.0
NOTIFY_SECONDS = 5.0
NODE_INFO_SECONDS = 120.0


class NotRegistered(MooringError):
    """Something went wrong that may go better the next time."""


Connect = Callable[[str, str], Connection]
"""To an endpoint, of a driver (for metrics; "" when it is not known)."""


class Handshake:
    """With one socket, while it is connected."""

    def __init__(self, socket: Path, connection: Connection) -> None:
        self._socket = socket
        self._connection = connection
        self._registration = Registration(connection)

    async def get_info(self) -> Plugin:
        """Raises: NotRegistered."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._connection.wait_ready()
        except TimeoutError:
            text = f"dial failed at socket {self._socket}, err: nobody listens there"
            raise NotRegistered(f"RegisterPlugin error -- {text}") from None
        told = await self._registration.get_info(within=INFO_SECONDS)
        if not isinstance(told, Done):
            text = f"failed to get plugin info using RPC GetInfo at socket {self._socket}"
            raise NotRegistered(f"RegisterPlugin error -- {text}, err: {told.text}")
        return told.value

    async def notify(self, status: RegistrationStatus) -> None:
        """Raises: NotRegistered when it was not heard."""
        told = await self._registration.notify(status, within=NOTIFY_SECONDS)
        if not isinstance(told, Done):
            what = "send registration status" if status.registered else "send error"
            text = f"failed to {what} at socket {self._socket}, err: {status.error}: {told.text}"
            raise NotRegistered(f"RegisterPlugin error -- {text}")


@asynccontextmanager
async def shaking_hands(socket: Path, connect: Connect) -> AsyncIterator[Handshake]:
    connection = connect(str(socket), "")
    try:
        yield Handshake(socket, connection)
    finally:
        await connection.close()


async def ask_driver(connection: Connection, name: str) -> NodeInfo:
    """What the driver says of this node. Raises: NotRegistered; also when it is another driver."""
    identity = await Identity(connection).get_info(within=NODE_INFO_SECONDS)
    if isinstance(identity, Done) and identity.value.name != name:
        endpoint, real = connection.endpoint, identity.value.name
        raise NotRegistered(f'the driver at {endpoint} is called "{real}", not "{name}"')
    info = await Node(connection).get_info(within=NODE_INFO_SECONDS)
    if not isinstance(info, Done):
        raise NotRegistered(info.text)
    return info.value
