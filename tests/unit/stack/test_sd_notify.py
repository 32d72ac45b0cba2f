"""What systemd is told."""

import socket
import uuid
from pathlib import Path

import pytest

from mooring.stack.sd_notify import READY, sd_notify, status


@pytest.mark.parametrize("is_abstract", [False, True])
def test_one_datagram_to_the_socket_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_abstract: bool
) -> None:
    name = f"@{uuid.uuid4()}" if is_abstract else str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(f"\0{name[1:]}" if is_abstract else name)
        heard.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        sd_notify(READY, status("ready at\nhttps://h:1"))
        assert heard.recv(1000) == b"READY=1\nSTATUS=ready at https://h:1"


@pytest.mark.parametrize("address", ["", "nonsense", "/nobody/listens", "vsock:2:3"])
def test_where_nobody_listens_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    sd_notify(READY)
