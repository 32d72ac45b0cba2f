"""Servers that a machine is told to join, and that mean harm."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.stack import join
from tests.fakes.node_server import self_signed

Play = Callable[[socket.socket, threading.Event], None]


def silent(_: socket.socket, over: threading.Event) -> None:
    over.wait(10)


def trickling(client: socket.socket, over: threading.Event) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while not over.wait(0.02):
        client.sendall(b"x")


def trickling_a_head(client: socket.socket, over: threading.Event) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not over.wait(0.02):
        client.sendall(b"x")


@contextmanager
def a_server(directory: Path, play: Play) -> Iterator[str]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(self_signed(directory)[0])
    over = threading.Event()

    def serve() -> None:
        plain, _ = door.accept()
        try:
            with tls.wrap_socket(plain, server_side=True) as client:
                client.recv(4096)
                play(client, over)
        except OSError:
            pass  # it hung up

    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://127.0.0.1:{door.getsockname()[1]}"
        over.set()
        thread.join()


@pytest.mark.parametrize("play", [silent, trickling, trickling_a_head])
def test_a_server_that_never_ends_its_answer_does_not_keep_a_machine_waiting(
    tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join, "SECONDS", 1.0)
    with a_server(tmp_path, play) as server:
        began = time.monotonic()
        with pytest.raises(UsageError) as told:
            join.fetch_authority(server, "0" * 64)
        assert time.monotonic() - began < 5
    assert str(told.value).startswith(f"{server} did not answer within 1 s: ")
    assert "\n" not in str(told.value)
