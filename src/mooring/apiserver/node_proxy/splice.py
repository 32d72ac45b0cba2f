"""Joins a client and a node, byte for byte, until either ends."""

from mooring.apiserver.node_proxy.answer import NodeAnswer
from mooring.apiserver.request.message import Outlet


class UpgradedStream:
    """Joins the client's tunnel with the connection to the kubelet.

    Neither side is read faster than the other one reads.
    """

    def __init__(self, node: NodeAnswer) -> None:
        self._node = node
        self._client: Outlet | None = None
        self._is_full = False  # the client does not read

    # the client's side

    def start(self, client: Outlet) -> None:
        self._client = client
        self._node.give_to(self)

    def received(self, data: bytes) -> None:
        self._node.send(data)

    def on_full(self) -> None:
        self._is_full = True
        self._node.pause()

    def on_ready(self) -> None:
        self._is_full = False
        self._node.resume()

    def on_closed(self) -> None:
        self._client = None
        if self._is_full:  # to say goodbye in TLS, all that the node has sent had to be read
            self._node.abort()
        else:
            self._node.close()

    # the node's side

    def node_sent(self, data: bytes) -> None:
        if self._client is not None:
            self._client.write(data)

    def node_ended(self, *, whole: bool) -> None:
        if self._client is not None:
            self._client.close()

    def node_full(self) -> None:
        if self._client is not None:
            self._client.pause_reading()

    def node_free(self) -> None:
        if self._client is not None:
            self._client.resume_reading()
