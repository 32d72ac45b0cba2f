"""Connections to members: what is refused before anything is dialled, and real gRPC."""

import asyncio
from pathlib import Path

import grpc
import pytest

from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.member import GrpcMember, TlsFiles, read_credentials
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.apiserver.store.etcd.wire import PROGRESS, RANGE, TOO_LARGE, follow, read_key
from mooring.clock import RealClock
from mooring.errors import EtcdError, UsageError
from tests.fakes.clock import settle
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.plain_layout import PlainLayout
from tests.fakes.etcd.serve import serving_etcd
from tests.unit.apiserver.store.engines import CLAIMS, Follower, a_put, remove, stored

HTTP, HTTPS = ("http://127.0.0.1:1",), ("https://127.0.0.1:1",)
NONE = TlsFiles()
SOMEWHERE = Path("/nowhere/x.pem")

REFUSED: dict[str, tuple[tuple[str, ...], TlsFiles, str]] = {
    "no server": ((), NONE, "one or more addresses"),
    "plain and encrypted mixed": (HTTP + HTTPS, NONE, "all http or all https"),
    "a certificate without its key": (
        HTTPS,
        TlsFiles(certificate=SOMEWHERE),
        "belong together",
    ),
    "an authority for plain http": (HTTP, TlsFiles(authority=SOMEWHERE), "need https://"),
    "a file that is not there": (HTTPS, TlsFiles(authority=SOMEWHERE), "cannot read /nowhere"),
}


@pytest.mark.parametrize(("urls", "files", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused(urls: tuple[str, ...], files: TlsFiles, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_credentials(urls, files)


def test_a_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text("nothing")
    with pytest.raises(UsageError, match="is no PEM file"):
        read_credentials(HTTPS, TlsFiles(authority=file))


@pytest.mark.parametrize("url", ["", "http://", "10.0.0.1:2379", "ftp://a", "http://a:x", "http:a"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is no address such as"):
        GrpcMember(url, None)


async def test_reading_writing_and_watching_over_grpc() -> None:
    async with serving_etcd(Data()) as url:
        clock = RealClock()
        cluster = Cluster([GrpcMember("http://127.0.0.1:1", None), GrpcMember(url, None)], clock)
        store = await EtcdStore.open(cluster, PlainLayout({CLAIMS: 60}), clock)
        follower = Follower(store, CLAIMS, store.revision)
        first = await stored(store, CLAIMS, "a/x", "one")
        await store.catch_up()
        await store.write(CLAIMS, "a/x", remove())
        events = await follower.take(2)
        assert [event.deleted for event in events] == [False, True]
        assert events[0].entry.value == first.value
        with pytest.raises(EtcdError, match=TOO_LARGE):
            await store.write(CLAIMS, "a/x", lambda _: a_put("x" * (1 << 21)))
        await store.close()


async def test_a_member_that_is_not_there_fails_as_one_that_may_come() -> None:
    member = GrpcMember("http://127.0.0.1:1", None)
    with pytest.raises(Failed) as failed:
        await member.call(RANGE, read_key(b"x"), 2)
    assert failed.value.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    assert failed.value.is_passing
    await member.close()


async def test_a_watch_that_is_closed_here_fails_as_one_that_broke() -> None:
    async with serving_etcd(Data()) as url:
        member = GrpcMember(url, None)
        stream = member.watch()
        await stream.send(follow(b"/registry/", 1))
        created = await stream.receive()
        assert created.created
        receiving = asyncio.ensure_future(stream.receive())
        await settle()
        stream.close()
        with pytest.raises(Failed):
            await receiving
        with pytest.raises(Failed):
            await stream.receive()
        with pytest.raises(Failed):
            await stream.send(PROGRESS)
        await member.close()


async def test_a_cancelled_reader_of_a_watch_is_cancelled() -> None:
    async with serving_etcd(Data()) as url:
        member = GrpcMember(url, None)
        stream = member.watch()
        await stream.send(follow(b"/registry/", 1))
        await stream.receive()
        receiving = asyncio.ensure_future(stream.receive())
        await settle()
        receiving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiving
        stream.close()
        await member.close()
