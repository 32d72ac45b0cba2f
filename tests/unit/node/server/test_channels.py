"""Exec over WebSockets, as kubectl and the Python clients speak it."""

import asyncio
import base64
import json
from typing import Any

import aiohttp
import pytest

from mooring.oci.contract import ExecOptions, RuntimeRefused, Size
from tests.fakes.waiting import until
from tests.unit.node.server.running import Node, saying

V5, V4, V1 = "v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"
BASE64_V4, BASE64 = "v4.base64.channel.k8s.io", "base64.channel.k8s.io"
PATH = "/exec/team/web/main"
Doc = dict[str, Any]


async def heard(socket: aiohttp.ClientWebSocketResponse) -> dict[int, bytes]:
    """What came on which channel, until the server closed."""
    channels: dict[int, bytes] = {}
    async for message in socket:
        assert message.type is aiohttp.WSMsgType.BINARY
        channel, data = message.data[0], message.data[1:]
        channels[channel] = channels.get(channel, b"") + data
    return channels


def open_exec(http: aiohttp.ClientSession, query: str, *protocols: str, path: str = PATH) -> Any:
    return http.ws_connect(f"{path}?{query}", protocols=protocols or (V5,), max_msg_size=0)


async def test_a_command_that_ends_well_tells_success_and_closes_with_1000(
    node: Node, http: aiohttp.ClientSession
) -> None:
    node.containers.answer(["ls", "-l"], saying(b"out", b"err", 0))
    query = "command=ls&command=-l&output=1&error=1"
    async with open_exec(http, query) as socket:
        assert socket.protocol == V5
        channels = await heard(socket)
    assert channels == {1: b"out", 2: b"err", 3: b'{"metadata":{},"status":"Success"}'}
    assert socket.close_code == 1000
    assert node.session.wish == ExecOptions(("ls", "-l"))
    assert node.session.is_closed


async def test_an_exit_code_is_told_in_the_status(node: Node, http: aiohttp.ClientSession) -> None:
    node.containers.answer(["false"], lambda s: s.end(3))
    async with open_exec(http, "command=false&stdout=true", V4) as socket:
        status = json.loads((await heard(socket))[3])
    assert status == {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": "command terminated with non-zero exit code: "
        "error executing command [false], exit code 3",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


async def test_ten_mebibytes_come_out_as_they_went_in(
    node: Node, http: aiohttp.ClientSession
) -> None:
    piece = bytes(range(256)) * 64
    async with open_exec(http, "command=cat&input=1&output=1") as socket:
        for _ in range(640):
            await socket.send_bytes(b"\0" + piece)
        await socket.send_bytes(b"\xff\0")
        channels = await heard(socket)
    assert channels[1] == piece * 640
    assert node.session.has_input_ended


async def test_input_may_come_as_text(node: Node, http: aiohttp.ClientSession) -> None:
    async with open_exec(http, "command=cat&input=1&output=1") as socket:
        await socket.send_str("\0hällo")
        await socket.send_bytes(b"\xff\0")
        assert (await heard(socket))[1] == "hällo".encode()


async def test_a_terminal_is_resized_and_has_no_stderr(
    node: Node, http: aiohttp.ClientSession
) -> None:
    node.containers.answer(["sh"], lambda s: s.say(b"both", 2))
    query = "command=sh&stdin=true&stdout=true&stderr=true&tty=true"
    async with open_exec(http, query) as socket:
        await socket.send_bytes(b'\4{"Width":80,"Height":24}\n')
        await socket.send_bytes(b'\4{"Width":100,')
        await socket.send_bytes(b'\4"Height":50}\n{"Width":-1}{"Width":1,"Height":1}')
        await until(lambda: len(node.session.sizes) == 2)
        node.session.end()
        channels = await heard(socket)
    assert node.session.sizes == [Size(80, 24), Size(100, 50)]
    assert node.session.wish == ExecOptions(("sh",), has_stdin=True, has_tty=True)
    assert channels.keys() == {1, 3}
    assert channels[1] == b"both"


async def test_a_silent_command_answers_pings(node: Node, http: aiohttp.ClientSession) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with http.ws_connect(
        f"{PATH}?command=sleep&output=1", protocols=(V5,), autoping=False
    ) as socket:
        assert (await socket.receive()).data == b"\1"
        await socket.ping(b"there?")
        answer = await socket.receive()
        assert (answer.type, bytes(answer.data)) == (aiohttp.WSMsgType.PONG, b"there?")


async def test_a_client_is_probed_while_nothing_is_said(
    node: Node, http: aiohttp.ClientSession
) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with http.ws_connect(
        f"{PATH}?command=sleep&output=1", protocols=(V5,), autoping=False
    ) as socket:
        assert (await socket.receive()).data == b"\1"
        await until(lambda: bool(node.containers.sessions))
        await node.clock.advance(31)
        assert (await socket.receive()).type is aiohttp.WSMsgType.PING


@pytest.mark.parametrize("command", ["sleep", "stuck"])
async def test_a_client_that_vanishes_takes_its_command_with_it(
    node: Node, http: aiohttp.ClientSession, command: str
) -> None:
    """Also while the command does not read what the client said."""
    node.containers.answer(["sleep"], lambda _: None)
    socket = await open_exec(http, f"command={command}&input=1&output=1")
    await socket.send_bytes(b"\0typed")
    await until(lambda: bool(node.containers.sessions and node.session.written))
    assert not node.session.is_closed
    transport = socket._response.connection.transport
    transport.abort()
    await until(lambda: node.session.is_closed)


async def test_a_client_that_says_goodbye_takes_its_command_with_it(
    node: Node, http: aiohttp.ClientSession
) -> None:
    node.containers.answer(["sleep"], lambda _: None)
    async with open_exec(http, "command=sleep&output=1"):
        await until(lambda: bool(node.containers.sessions))
    await until(lambda: node.session.is_closed)


async def test_a_command_that_cannot_be_started_is_told_in_the_status(
    node: Node, http: aiohttp.ClientSession
) -> None:
    node.containers.refuse("exec", "main", RuntimeRefused("no such file"))
    async with open_exec(http, "command=nothing&output=1") as socket:
        status = json.loads((await heard(socket))[3])
    text = "error executing command in container: no such file"
    assert status == {
        "metadata": {},
        "status": "Failure",
        "reason": "InternalError",
        "message": f"Internal error occurred: {text}",
        "details": {"causes": [{"message": text}]},
        "code": 500,
    }


async def test_older_clients_get_plain_text(node: Node, http: aiohttp.ClientSession) -> None:
    node.containers.answer(["false"], lambda s: s.end(3))
    async with open_exec(http, "command=false&output=1", V1) as socket:
        channels = await heard(socket)
    assert channels[3].startswith(b"command terminated with non-zero exit code: ")
    async with open_exec(http, "command=true&output=1", V1) as socket:
        assert await heard(socket) == {1: b""}


@pytest.mark.parametrize("protocol", [BASE64_V4, BASE64])
async def test_base64_protocols_speak_text(
    node: Node, http: aiohttp.ClientSession, protocol: str
) -> None:
    async with open_exec(http, "command=cat&input=1&output=1", protocol) as socket:
        assert (await socket.receive()).data == "1"
        await socket.send_str("0!!!")  # no base64: passed over
        await socket.send_str("0" + base64.b64encode(b"ping").decode())
        assert await socket.receive_str() == "1" + base64.b64encode(b"ping").decode()


async def test_the_first_protocol_that_both_know_is_taken(
    node: Node, http: aiohttp.ClientSession
) -> None:
    async with open_exec(http, "command=true&output=1", "v9.channel.k8s.io", V4, V5) as socket:
        assert socket.protocol == V4


async def test_protocols_nobody_knows_are_refused(node: Node, http: aiohttp.ClientSession) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await open_exec(http, "command=true&output=1", "v9.channel.k8s.io")
    assert refusal.value.status == 403
    assert not node.containers.sessions


AFTER, NOTHING = b"\1after", None
HOSTILE = {
    "a channel that there is not is passed over": (b"\x09data", AFTER),
    "an empty message is passed over": (b"", AFTER),
    "data for a channel that only the server writes is passed over": (b"\1data", AFTER),
    "sizes that make no sense are passed over": (b"\4[[[[", AFTER),
    "the end of a channel that there is not ends the connection": (b"\xff\x63", NOTHING),
    "an end without a channel ends the connection": (b"\xff", NOTHING),
}


@pytest.mark.parametrize(("message", "then"), HOSTILE.values(), ids=HOSTILE)
async def test_hostile_messages(
    node: Node, http: aiohttp.ClientSession, message: bytes, then: bytes | None
) -> None:
    async with (
        open_exec(http, "command=cat&input=1&output=1") as other,
        open_exec(http, "command=cat&input=1&output=1&tty=1") as socket,
    ):
        await socket.send_bytes(message)
        await socket.send_bytes(b"\0after")
        assert (await socket.receive()).data == b"\1"
        answer = await socket.receive()
        assert (answer.data if answer.type is aiohttp.WSMsgType.BINARY else None) == then
        await other.send_bytes(b"\0still here")
        assert [(await other.receive()).data for _ in range(2)] == [b"\1", b"\1still here"]


async def test_a_message_that_is_too_large_ends_only_its_connection(
    node: Node, http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.node.server.channels.MOST_BYTES", 1000)
    async with open_exec(http, "command=cat&input=1&output=1") as socket:
        await socket.send_bytes(b"\0" + b"x" * 2000)
        assert await heard(socket) == {1: b""}
    assert socket.close_code != 1000
    await until(lambda: node.session.is_closed)


async def test_hundreds_of_quick_commands_leave_nothing_behind(
    node: Node, http: aiohttp.ClientSession
) -> None:
    async def one() -> None:
        async with open_exec(http, "command=true&output=1") as socket:
            await heard(socket)

    await one()
    before = len(asyncio.all_tasks())
    for _ in range(20):
        await asyncio.gather(*(one() for _ in range(10)))
    await until(lambda: len(asyncio.all_tasks()) <= before)
    assert all(session.is_closed for session in node.containers.sessions)
    assert len(node.containers.sessions) == 201


REFUSED = {
    "no streams": (
        "/exec/team/web/main?command=ls",
        400,
        "you must specify at least 1 of stdin, stdout, stderr",
    ),
    "no command": ("/exec/team/web/main?output=1", 400, "you must specify at least 1 command"),
    "no pod": ("/exec/team/db/main?command=ls&output=1", 404, "pod does not exist"),
    "no container": ("/exec/team/web/x?command=ls&output=1", 500, 'container not found ("x")'),
    "another pod of the name": (
        "/exec/team/web/other-uid/main?command=ls&output=1",
        500,
        'container not found ("main")',
    ),
    "no upgrade": ("/exec/team/web/main?command=ls&output=1", 400, "Upgrade request required"),
    "nothing to attach to": (
        "/attach/team/web/side?output=1",
        500,
        "container side not found in pod web_team",
    ),
}


@pytest.mark.parametrize(("path", "code", "text"), REFUSED.values(), ids=REFUSED)
async def test_refusals(http: aiohttp.ClientSession, path: str, code: int, text: str) -> None:
    for ask in (http.get, http.post):
        async with ask(path) as answer:
            assert (answer.status, await answer.text()) == (code, text)
            assert answer.content_type == "text/plain"


async def test_a_container_that_has_ended_is_not_found(
    node: Node, http: aiohttp.ClientSession
) -> None:
    node.containers.finish(node.containers.id_of("main"))
    async with http.get(f"{PATH}?command=ls&output=1") as answer:
        assert (answer.status, await answer.text()) == (500, 'container not found ("main")')


async def test_the_path_may_name_the_uid(node: Node, http: aiohttp.ClientSession) -> None:
    path = f"/exec/team/web/{node.pods[next(iter(node.pods))].uid}/main"
    async with open_exec(http, "command=true&output=1", path=path) as socket:
        assert 3 in await heard(socket)


async def test_attach_ends_with_the_container(node: Node, http: aiohttp.ClientSession) -> None:
    async with open_exec(http, "output=1&input=1", path="/attach/team/web/main") as socket:
        await socket.send_bytes(b"\0hello")
        await until(lambda: bool(node.containers.sessions and node.session.written))
        node.session.say(b"bye")
        node.session.end(7)
        channels = await heard(socket)
    assert node.session.written == b"hello"
    assert channels == {1: b"bye", 3: b'{"metadata":{},"status":"Success"}'}


async def test_an_attach_that_is_refused_says_so(node: Node, http: aiohttp.ClientSession) -> None:
    node.containers.refuse("attach", "main", RuntimeRefused("not now"))
    async with open_exec(http, "output=1", path="/attach/team/web/main") as socket:
        status = json.loads((await heard(socket))[3])
    assert status["message"] == "Internal error occurred: error attaching to container: not now"
