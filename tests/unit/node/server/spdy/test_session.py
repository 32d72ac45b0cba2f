"""Exec over SPDY, as kubectl spoke it before 1.30 and falls back to."""

import asyncio
import json
import struct
from collections.abc import Callable

import pytest

from mooring.oci.contract import Size
from tests.fakes.waiting import until
from tests.unit.node.server.running import Node, saying
from tests.unit.node.server.spdy.client import (
    FIN,
    GOAWAY,
    PING,
    RST_STREAM,
    SYN_REPLY,
    SYN_STREAM,
    SpdyClient,
    spdy,
)

V4, V3, V2, V1 = (f"{v}channel.k8s.io" for v in ("v4.", "v3.", "v2.", ""))
PATH = "/exec/team/web/main"


async def test_output_errors_and_exit_code_come_on_streams_of_their_own(node: Node) -> None:
    node.containers.answer(["x"], saying(b"out", b"err", 3))
    async with spdy(node, f"{PATH}?command=x&output=1&error=1", "v5.channel.k8s.io", V4) as client:
        assert client.head.startswith(b"HTTP/1.1 101 ")
        for line in (b"Upgrade: SPDY/3.1", b"Connection: Upgrade", V4.encode()):
            assert line in client.head
        streams = [client.open(streamtype=name) for name in ("error", "stdout", "stderr")]
        came = await client.heard(streams)
        last = await client.frame()
    assert [came[stream] for stream in streams[1:]] == [b"out", b"err"]
    status = json.loads(came[streams[0]])
    assert status["details"] == {"causes": [{"reason": "ExitCode", "message": "3"}]}
    assert last.kind == GOAWAY


async def test_every_stream_is_accepted(node: Node) -> None:
    async with spdy(node, f"{PATH}?command=cat&input=1&output=1", V4) as client:
        for expected, name in ((1, "error"), (3, "stdin"), (5, "stdout")):
            assert client.open(streamtype=name) == expected
            frame = await client.frame()
            assert (frame.kind, frame.body[:4]) == (SYN_REPLY, struct.pack(">I", expected))


async def test_ten_mebibytes_come_out_as_they_went_in(node: Node) -> None:
    piece = bytes(range(256)) * 1024
    async with spdy(node, f"{PATH}?command=cat&input=1&output=1", V4) as client:
        error, stdin, stdout = (client.open(streamtype=n) for n in ("error", "stdin", "stdout"))
        for _ in range(40):
            client.send(stdin, piece)
        client.send(stdin, b"", FIN)
        came = await client.heard([error, stdout])
    assert came[stdout] == piece * 40
    assert json.loads(came[error])["status"] == "Success"


async def test_a_terminal_is_resized(node: Node) -> None:
    node.containers.answer(["sh"], lambda _: None)
    async with spdy(node, f"{PATH}?command=sh&input=1&output=1&error=1&tty=1", V4) as client:
        names = ("error", "stdin", "stdout", "resize")
        *_, resize = [client.open(streamtype=name) for name in names]
        client.send(resize, b'{"Width":80,"Height":24}\n')
        await until(lambda: bool(node.containers.sessions and node.session.sizes))
    assert node.session.sizes == [Size(80, 24)]
    assert node.session.wish is not None
    assert node.session.wish.has_tty


@pytest.mark.parametrize("protocol", [V3, V2, V1])
async def test_older_protocols_end_with_text(node: Node, protocol: str) -> None:
    node.containers.answer(["x"], lambda s: s.end(3))
    async with spdy(node, f"{PATH}?command=x&output=1", protocol) as client:
        error, stdout = client.open(streamtype="error"), client.open(streamtype="stdout")
        came = await client.heard([error, stdout])
    assert came[error].startswith(b"command terminated with non-zero exit code: ")


REFUSED = {
    "no protocol": ((), b"400", b"header X-Stream-Protocol-Version does not exist"),
    "an unknown protocol": (
        ("v9.channel.k8s.io",),
        b"403",
        b"client supports [v9.channel.k8s.io], server accepts [v4.channel.k8s.io",
    ),
}


@pytest.mark.parametrize(("protocols", "code", "text"), REFUSED.values(), ids=REFUSED)
async def test_refusals(node: Node, protocols: tuple[str, ...], code: bytes, text: bytes) -> None:
    async with spdy(node, f"{PATH}?command=x&output=1", *protocols) as client:
        assert client.head.split()[1] == code
        assert text in await client.reader.readuntil(text)


async def test_pings_are_answered_while_the_command_is_silent(node: Node) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with spdy(node, f"{PATH}?command=sleep&output=1", V4) as client:
        await set_up(client)
        client.control(PING, struct.pack(">I", 7))
        frame = await client.frame()
        assert (frame.kind, frame.body) == (PING, struct.pack(">I", 7))


async def set_up(client: SpdyClient) -> None:
    """Open the streams of a command that only writes."""
    for name in ("error", "stdout"):
        client.open(streamtype=name)
        assert (await client.frame()).kind == SYN_REPLY


async def test_a_client_is_probed_while_nothing_is_said(node: Node) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with spdy(node, f"{PATH}?command=sleep&output=1", V4) as client:
        await set_up(client)
        await until(lambda: bool(node.containers.sessions))
        await node.clock.advance(31)
        frame = await client.frame()
        assert (frame.kind, frame.body) == (PING, struct.pack(">I", 2))


def leave_silently(client: SpdyClient) -> None:
    client.writer.transport.abort()


def leave_politely(client: SpdyClient) -> None:
    client.control(GOAWAY, bytes(8))


@pytest.mark.parametrize("leave", [leave_silently, leave_politely])
@pytest.mark.parametrize("command", ["sleep", "stuck"])
async def test_a_client_that_leaves_takes_its_command_with_it(
    node: Node, command: str, leave: Callable[[SpdyClient], None]
) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with spdy(node, f"{PATH}?command={command}&input=1&output=1", V4) as client:
        _, stdin, _ = (client.open(streamtype=n) for n in ("error", "stdin", "stdout"))
        client.send(stdin, b"typed")
        await until(lambda: bool(node.containers.sessions and node.session.written))
        leave(client)
        await until(lambda: node.session.is_closed)


async def test_a_command_that_does_not_read_makes_the_client_wait(node: Node) -> None:
    async with spdy(node, f"{PATH}?command=stuck&input=1&output=1", V4) as client:
        _, stdin, _ = (client.open(streamtype=n) for n in ("error", "stdin", "stdout"))
        sending = asyncio.create_task(flood(client, stdin))
        _, still_sending = await asyncio.wait([sending], timeout=1.0)
        sending.cancel()
    assert still_sending


async def flood(client: SpdyClient, stream: int) -> None:
    for _ in range(100):  # far more than all buffers on the way
        client.send(stream, bytes(1 << 20))
        await client.writer.drain()


async def test_a_client_that_opens_no_streams_is_sent_away(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.node.server.spdy.session.SLOWEST_STREAMS", 0.01)
    async with spdy(node, f"{PATH}?command=x&output=1", V4) as client:
        assert [frame.kind async for frame in client.frames()] == [GOAWAY]
    assert not node.containers.sessions


def oversized(client: SpdyClient) -> None:
    client.writer.write(struct.pack(">II", 0x80030001, 1 << 20))


def bad_zlib(client: SpdyClient) -> None:
    client.control(SYN_STREAM, struct.pack(">IIH", 5, 0, 0) + b"no zlib at all")


def bomb(client: SpdyClient) -> None:
    client.open(streamtype="x" * (1 << 20))


def truncated(client: SpdyClient) -> None:
    client.control(SYN_STREAM, b"\0\0")


def other_version(client: SpdyClient) -> None:
    client.writer.write(struct.pack(">II", 0x80020001, 0))


def stream_twice(client: SpdyClient) -> None:
    client._next = 1
    client.open(streamtype="stdin")


HOSTILE = [oversized, bad_zlib, bomb, truncated, other_version, stream_twice]


@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
async def test_hostile_frames_end_only_their_connection(
    node: Node, attack: Callable[[SpdyClient], None]
) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with (
        spdy(node, f"{PATH}?command=sleep&output=1", V4) as other,
        spdy(node, f"{PATH}?command=sleep&output=1", V4) as client,
    ):
        await set_up(other)
        await until(lambda: len(node.containers.sessions) == 1)
        await set_up(client)
        await until(lambda: len(node.containers.sessions) == 2)
        attack(client)
        assert [frame.kind async for frame in client.frames()] == [GOAWAY]
        await until(lambda: node.session.is_closed)
        node.containers.sessions[0].say(b"still here")
        assert (await other.frame()).body == b"still here"


async def test_more_streams_than_anybody_needs_are_refused(node: Node) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with spdy(node, f"{PATH}?command=sleep&output=1", V4) as client:
        await set_up(client)
        for _ in range(255):
            client.open(streamtype="stdin")
        kinds = [(await client.frame()).kind for _ in range(255)]
    assert kinds == [SYN_REPLY] * 254 + [RST_STREAM]
