"""`/containerLogs` over HTTPS."""

import asyncio
import os
from pathlib import Path

import aiohttp
import pytest

from mooring.model.container_status import (
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    Waiting,
)
from tests.fakes.waiting import until
from tests.unit.node.server.running import POD, Node, a_pod

PATH = "/containerLogs/team/web/main"
LINE = b"2026-01-02T03:04:05.000000007Z stdout F %b\n"


def write(log: Path, *texts: bytes) -> None:
    with log.open("ab") as file:
        file.write(b"".join(LINE % text for text in texts))


def rotate(log: Path) -> None:
    log.rename(log.with_name("0.log.20260102-030405"))


def cut_last_byte(log: Path) -> None:
    os.truncate(log, log.stat().st_size - 1)


@pytest.fixture
def log(node: Node) -> Path:
    found = node.containers.find(node.containers.id_of("main"))
    assert found is not None
    return found.log_path


async def test_a_log_is_plain_text_in_pieces(
    node: Node, http: aiohttp.ClientSession, log: Path
) -> None:
    write(log, b"one", b"two", b"three")
    async with http.get(f"{PATH}?tailLines=2&timestamps=true") as answer:
        assert (answer.status, answer.content_type) == (200, "text/plain")
        assert answer.headers["Transfer-Encoding"] == "chunked"
        stamp = b"2026-01-02T03:04:05.000000007Z "
        assert await answer.read() == stamp + b"two\n" + stamp + b"three\n"


async def test_a_large_log_comes_whole(node: Node, http: aiohttp.ClientSession, log: Path) -> None:
    text = b"x" * 1000
    write(log, *[text] * 10_000)
    async with http.get(PATH) as answer:
        assert await answer.read() == (text + b"\n") * 10_000


async def test_a_followed_log_ends_with_the_container(
    node: Node, http: aiohttp.ClientSession, log: Path
) -> None:
    write(log, b"one")
    async with http.get(f"{PATH}?follow=true") as answer:
        lines = answer.content
        assert await lines.readline() == b"one\n"
        write(log, b"two")
        assert await lines.readline() == b"two\n"
        rotate(log)
        write(log, b"three")
        assert await lines.readline() == b"three\n"
        write(log, b"four")
        node.containers.finish(node.containers.id_of("main"))
        assert await lines.read() == b"four\n"


async def test_a_followed_log_of_a_silent_container_is_answered_at_once(
    node: Node, http: aiohttp.ClientSession
) -> None:
    async with asyncio.timeout(10), http.get(f"{PATH}?follow=true") as answer:
        assert answer.status == 200


async def test_a_log_of_a_container_that_has_ended_is_followed_to_its_end(
    node: Node, http: aiohttp.ClientSession, log: Path
) -> None:
    write(log, b"whole", b"cut off")
    cut_last_byte(log)
    node.containers.finish(node.containers.id_of("main"))
    async with http.get(f"{PATH}?follow=true") as answer:
        assert await answer.read() == b"whole\ncut off\n"


async def test_a_followed_log_ends_with_the_bytes_asked_for(
    node: Node, http: aiohttp.ClientSession, log: Path
) -> None:
    write(log, b"one", b"two")
    async with http.get(f"{PATH}?follow=true&limitBytes=5") as answer:
        assert await answer.read() == b"one\nt"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("texts", [1, 100_000], ids=["waiting", "in the middle of much"])
async def test_a_follower_that_vanishes_leaves_nothing_behind(
    node: Node, log: Path, texts: int
) -> None:
    write(log, *[b"x" * 100] * texts)
    before, tasks = open_files(), len(asyncio.all_tasks())
    for _ in range(5):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", node.server.port, ssl=node.tls()
        )
        writer.write(f"GET {PATH}?follow=true HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert b"200 OK" in await reader.readline()
        writer.transport.abort()
    await until(lambda: open_files() <= before and len(asyncio.all_tasks()) <= tasks)


async def test_the_newest_attempt_is_meant_and_the_status_names_the_previous(
    node: Node, http: aiohttp.ClientSession, log: Path
) -> None:
    write(log, b"first")
    first = node.containers.id_of("main")
    node.containers.finish(first, 1)
    await node.run_container(attempt=1)
    write(log.with_name("1.log"), b"second")
    last = ContainerState(terminated=Terminated(container_id=f"runc://{first}"))
    node.pods[POD] = a_pod(container_statuses=(ContainerStatus(name="main", last_state=last),))
    async with http.get(PATH) as answer:
        assert await answer.read() == b"second\n"
    async with http.get(f"{PATH}?previous=true") as answer:
        assert await answer.read() == b"first\n"


IN_POD = 'container "side" in pod "web"'
ENDED = ContainerState(terminated=Terminated())
STATES = {
    "unknown to the status": (None, "", f"{IN_POD} is not available"),
    "being made": (
        ContainerState(waiting=Waiting(reason="ContainerCreating")),
        "",
        f"{IN_POD} is waiting to start: ContainerCreating",
    ),
    "its image cannot be pulled": (
        ContainerState(waiting=Waiting(reason="ErrImagePull")),
        "",
        f"{IN_POD} is waiting to start: image can't be pulled",
    ),
    "its image is pulled again and again": (
        ContainerState(waiting=Waiting(reason="ImagePullBackOff")),
        "",
        f"{IN_POD} is waiting to start: trying and failing to pull image",
    ),
    "in no state": (ContainerState(), "", f"{IN_POD} is waiting to start - no logs yet"),
    "ended before it began": (ENDED, "", f"{IN_POD} is terminated"),
    "never ended before": (
        ContainerState(running=Running()),
        "?previous=true",
        f"previous terminated {IN_POD} not found",
    ),
    "gone": (
        ContainerState(terminated=Terminated(container_id="runc://abc")),
        "",
        "unable to retrieve container logs for runc://abc",
    ),
}


@pytest.mark.parametrize(("state", "query", "text"), STATES.values(), ids=STATES)
async def test_containers_without_a_log(
    node: Node, http: aiohttp.ClientSession, state: ContainerState | None, query: str, text: str
) -> None:
    statuses = () if state is None else (ContainerStatus(name="side", state=state),)
    node.pods[POD] = a_pod(container_statuses=statuses)
    async with http.get(f"/containerLogs/team/web/side{query}") as answer:
        assert (answer.status, await answer.text()) == (400, text)


NOT_FOUND = {
    "no pod": ("/containerLogs/team/db/main", 404, 'pod "db" does not exist'),
    "no container": (
        "/containerLogs/team/web/x",
        404,
        'container "x" not found in pod "web"',
    ),
    "a bad query": (f"{PATH}?tailLines=x", 400, '{"message": "Unable to decode query."}'),
    "a query that is not valid": (f"{PATH}?tailLines=-1", 422, '{"message": "Invalid request."}'),
}


@pytest.mark.parametrize(("path", "code", "text"), NOT_FOUND.values(), ids=NOT_FOUND)
async def test_refusals(http: aiohttp.ClientSession, path: str, code: int, text: str) -> None:
    async with http.get(path) as answer:
        assert (answer.status, await answer.text()) == (code, text)
