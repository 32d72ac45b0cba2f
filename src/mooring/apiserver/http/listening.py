"""The sockets that clients come in by."""

import asyncio
import socket

IDLE, EVERY, TRIES = 30, 15, 5  # seconds, seconds, and unanswered probes until a client is gone


async def bind(host: str, port: int) -> list[socket.socket]:
    """Take a port on every address that `host` stands for. Raises: OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            door = socket.socket(family, kind, protocol)
            sockets.append(door)
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            door.bind(address)
            door.setblocking(False)  # noqa: FBT003  its only form
    except OSError:
        for door in sockets:
            door.close()
        raise
    return sockets


async def accepted(loop: asyncio.AbstractEventLoop, door: socket.socket) -> socket.socket:
    """The next client; the kernel asks it now and then whether it is still there."""
    client, _ = await loop.sock_accept(door)
    client.setblocking(False)  # noqa: FBT003  its only form
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, EVERY)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, TRIES)
    return client
