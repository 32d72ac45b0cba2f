"""Connections to nodes: one request each, whose answer is handed on as it comes."""

import asyncio
import hmac
import os
import socket
import ssl
from collections.abc import Callable
from hashlib import sha256
from typing import Protocol, cast

from mooring.apiserver.limits.budgets import HIGH_WATER
from mooring.apiserver.node_proxy.address import NodeAddress
from mooring.apiserver.node_proxy.answer import SLOWEST_HANDSHAKE, Head, NodeAnswer
from mooring.errors import MooringError

LONGEST_DIAL = 30.0  # seconds for a connection, and for agreeing on keys
LONGEST_SILENCE = 30.0  # seconds from the request to the head of its answer
LONGEST_THOUGHT = 60.0  # the same, of a pod
SLOWEST_GOODBYE = 1.0


class _ReadLimited(Protocol):
    """A TLS transport, of asyncio and of uvloop; asyncio's types do not tell it."""

    def set_read_buffer_limits(self, high: int) -> None: ...


class NotConnected(MooringError):
    """The node cannot be reached, or has the wrong certificate; no request was sent."""


class NoAnswer(MooringError):
    """The node was asked, and nothing that makes sense came back; `in_time` if it said so."""

    def __init__(self, message: str, *, in_time: bool = True) -> None:
        super().__init__(message)
        self.in_time = in_time


class Nodes:
    """Calls nodes, with the client certificate of the TLS settings."""

    def __init__(self, tls: Callable[[], ssl.SSLContext]) -> None:
        self._tls = tls

    async def ask(self, node: NodeAddress, request: bytes) -> tuple[Head, NodeAnswer]:
        """Send a request; returns when the head of the answer is there.

        After: the caller owns the answer and has to close it. Raises: NotConnected, NoAnswer.
        """
        answer = await self._connect(node)
        head: Head | None = None
        try:
            answer.send(request)
            async with asyncio.timeout(LONGEST_SILENCE):
                head = await answer.head
        except TimeoutError:
            raise NoAnswer(f"node {node.name} does not answer", in_time=False) from None
        except (ValueError, OSError) as error:
            raise NoAnswer(f"node {node.name}: {_why(error)}") from error
        finally:
            if head is None:
                answer.close()
        return head, answer

    async def ask_pod(
        self, tunnel: NodeAnswer, request: bytes, tls: ssl.SSLContext | None
    ) -> tuple[Head, NodeAnswer]:
        """Send a request through a tunnel to a pod's port; as `ask`. Raises: NoAnswer.

        After: the tunnel belongs to the answer, or is closed.
        """
        answer = NodeAnswer()
        head: Head | None = None
        try:
            async with asyncio.timeout(LONGEST_THOUGHT):
                await tunnel.become(answer, tls)
                answer.send(request)
                head = await answer.head
        except TimeoutError:
            raise NoAnswer(
                f"the pod did not answer within {LONGEST_THOUGHT:.0f} s", in_time=False
            ) from None
        except (ValueError, OSError) as error:
            raise NoAnswer(_why(error)) from error
        finally:
            tunnel.close()
            if head is None:
                answer.close()
        return head, answer

    async def _connect(self, node: NodeAddress) -> NodeAnswer:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(LONGEST_DIAL):
                transport, answer = await loop.create_connection(
                    NodeAnswer,
                    node.host,
                    node.port,
                    ssl=self._tls(),
                    ssl_handshake_timeout=SLOWEST_HANDSHAKE,
                    ssl_shutdown_timeout=SLOWEST_GOODBYE,
                )
        except OSError as error:
            raise NotConnected(_in_words(node, error)) from error
        except (ValueError, OverflowError) as error:  # a host or port that there cannot be
            raise NotConnected(f"dial tcp: lookup {node.host!a}: no such host") from error
        transport.set_write_buffer_limits(high=HIGH_WATER)
        # TLS reads all that is there and keeps buffers of that size as long as it lives: 64 KiB at
        # once instead of megabytes, which is faster, too.
        plain = transport.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, HIGH_WATER)
        limited = cast(_ReadLimited, transport)
        limited.set_read_buffer_limits(high=HIGH_WATER)  # what nobody takes waits in the kernel
        shown = transport.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
        if not hmac.compare_digest(sha256(shown).hexdigest(), node.fingerprint):
            answer.close()
            raise NotConnected(
                f"tls: failed to verify certificate: {node.authority} shows another one than "
                f"node {node.name} says it has"
            )
        return answer


def _in_words(node: NodeAddress, error: OSError) -> str:
    """As clients of Kubernetes know it, on one line."""
    match error:
        case ssl.SSLError():
            return _why(error)
        case socket.gaierror():
            return f"dial tcp: lookup {node.host}: no such host"
        case TimeoutError():
            return f"dial tcp {node.authority}: i/o timeout"
        case _ if error.errno:
            return f"dial tcp {node.authority}: connect: {_why(error)}"
        case _:
            return f"dial tcp {node.authority}: {_why(error)}"


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"remote error: tls: {(error.reason or 'handshake failure').lower()}"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error) or "EOF"
