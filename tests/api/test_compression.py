"""What is compressed for clients that ask so: large answers, and watches that begin with a list."""

import gzip
import json
import zlib
from pathlib import Path

import pytest

from mooring.apiserver.api import compression
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.request.message import Stream
from mooring.model.document import Doc
from mooring.model.kubernetes_version import V1_35
from tests.fakes.api import Answered, ApiUnderTest, running_api
from tests.fakes.clock import settle
from tests.fakes.waiting import until

TEMPLATES = "/api/v1/namespaces/default/podtemplates"
WATCH_LIST = (
    f"{TEMPLATES}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
    "&resourceVersionMatch=NotOlderThan"
)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GZIP = "gzip"


def an_object(name: str, text: str) -> Doc:
    """Of a kind of which a new cluster has none."""
    container = {"name": "c", "image": "i"}
    metadata = {"name": name, "annotations": {"v": text}}
    return {"metadata": metadata, "template": {"spec": {"containers": [container]}}}


async def fill(api: ApiUnderTest, count: int = 40, size: int = 5_000) -> None:
    for number in range(count):
        made = await api.post(TEMPLATES, an_object(f"m{number:02}", f"{number}" * size))
        assert made.code == 201, made.text


def is_compressed(answer: Answered) -> bool:
    return answer.header("Content-Encoding") == "gzip"


def told(answer: Answered) -> Doc:
    return dict(json.loads(gzip.decompress(answer.body)))


@pytest.mark.parametrize("asked", ["gzip", "deflate, gzip;q=1.0, *;q=0.5"])
async def test_a_large_list(api: ApiUnderTest, asked: str) -> None:
    await fill(api)
    plain = await api.get(TEMPLATES)
    answer = await api.get(TEMPLATES, accept_encoding=asked)
    assert is_compressed(answer)
    assert answer.header("Vary") == "Accept-Encoding"
    assert told(answer) == plain.doc
    assert len(answer.body) * 5 < len(plain.body)


@pytest.mark.parametrize("asked", ["", "identity", "br", "gzip;q=0"])
async def test_not_for_clients_that_do_not_ask(api: ApiUnderTest, asked: str) -> None:
    await fill(api)
    headers = {"accept_encoding": asked} if asked else {}
    assert not is_compressed(await api.get(TEMPLATES, **headers))


async def test_a_short_list_is_sent_as_it_is(api: ApiUnderTest) -> None:
    await fill(api, 10)
    answer = await api.get(TEMPLATES, accept_encoding=GZIP)
    assert not is_compressed(answer)
    assert len(answer.doc["items"]) == 10


async def test_one_large_object(api: ApiUnderTest) -> None:
    made = await api.post(TEMPLATES, an_object("large", "x" * 200_000), accept_encoding=GZIP)
    assert is_compressed(made)
    read = await api.get(f"{TEMPLATES}/large", accept_encoding=GZIP)
    assert told(read)["metadata"]["annotations"] == {"v": "x" * 200_000}


async def test_a_list_that_is_made_while_it_is_sent(api: ApiUnderTest) -> None:
    await fill(api)
    url = f"{TEMPLATES}?includeObject=Object"
    answer = await api.get(url, accept=TABLE, accept_encoding=GZIP)
    assert is_compressed(answer)
    assert len(told(answer)["rows"]) == 40


async def test_a_page_of_its_own_is_left_alone(api: ApiUnderTest) -> None:
    answer = await api.get("/openapi/v2", accept_encoding=GZIP)
    assert not is_compressed(answer)
    assert answer.doc["swagger"] == "2.0"


async def test_no_more_than_so_many_are_compressed_at_a_time(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(api)
    monkeypatch.setattr(compression, "MOST_AT_ONCE", 0)
    answer = await api.get(TEMPLATES, accept_encoding=GZIP)
    assert not is_compressed(answer)
    assert len(answer.doc["items"]) == 40


class Members:
    """The receiving end of a compressed watch; every piece is a gzip file of its own."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.pieces: list[bytes] = []
        self.ended = False
        self.ready = True
        stream.source.start(self)

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def write_framed(self, chunk: bytes) -> None:
        raise AssertionError("what is framed is not compressed")

    def end(self) -> None:
        self.ended = True
        self.stream.source.on_closed()

    def cut(self) -> None:
        self.end()

    @property
    def events(self) -> list[Doc]:
        lines = b"".join(map(whole_member, self.pieces)).splitlines()
        return [json.loads(line) for line in lines]


def whole_member(piece: bytes) -> bytes:
    reader = zlib.decompressobj(31)
    data = reader.decompress(piece)
    assert reader.eof
    assert not reader.unused_data
    return data


async def members(api: ApiUnderTest, url: str = WATCH_LIST) -> Members:
    answer = await api.send("GET", url, headers={"accept-encoding": GZIP})
    assert isinstance(answer, Stream)
    assert ("Content-Encoding", "gzip") in answer.headers
    return Members(answer)


async def test_a_watch_list_is_many_gzip_files(api: ApiUnderTest) -> None:
    await fill(api)
    watching = await members(api)
    await until(lambda: len(watching.events) == 41)
    assert [event["type"] for event in watching.events] == ["ADDED"] * 40 + ["BOOKMARK"]
    before = len(watching.pieces)
    await api.patch(f"{TEMPLATES}/m00", {"metadata": {"annotations": {"v": "new"}}})
    await until(lambda: len(watching.pieces) > before)
    assert watching.events[-1]["object"]["metadata"]["annotations"] == {"v": "new"}


async def test_all_of_a_file_can_be_read_before_its_last_block(api: ApiUnderTest) -> None:
    """At which Go's reader waits for the next file, with what it has read of that block."""
    await fill(api, count=3)
    watching = await members(api)
    await until(lambda: len(watching.events) == 4)
    end = len(b"\x03\x00") + 8  # an empty block, checksum and length
    for piece in watching.pieces:
        assert zlib.decompressobj(31).decompress(piece[:-end]) == whole_member(piece)


async def test_long_events_and_short_ones_stay_in_order(api: ApiUnderTest) -> None:
    await api.post(TEMPLATES, an_object("m", ""))
    watching = await members(api)
    for number in range(20):
        value = str(number) * (50_000 if number % 2 else 1)
        await api.patch(f"{TEMPLATES}/m", {"metadata": {"annotations": {"v": value}}})
    await until(lambda: len(watching.events) == 22)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in watching.events]
    assert versions == sorted(versions)


async def test_watchers_of_the_same_share_what_is_compressed(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    compress = compression._compress

    def counted(data: bytes) -> bytes:
        nonlocal count
        count += 1
        return compress(data)

    watching = [await members(api) for _ in range(20)]
    for each in watching:
        await until(lambda each=each: len(each.events) > 0)  # type: ignore[misc]
    monkeypatch.setattr(compression, "_compress", counted)
    await api.post(TEMPLATES, an_object("m", "x"))
    for each in watching:
        await until(
            lambda each=each: each.events[-1]["type"] == "ADDED"  # type: ignore[misc]
        )
    assert count == 1


async def test_a_client_that_does_not_read_has_nothing_prepared(api: ApiUnderTest) -> None:
    await fill(api)
    answer = await api.send("GET", WATCH_LIST, headers={"accept-encoding": GZIP})
    assert isinstance(answer, Stream)
    watching = Members.__new__(Members)
    watching.stream, watching.pieces, watching.ended, watching.ready = answer, [], False, False
    answer.source.start(watching)
    await settle()
    assert watching.pieces == []
    watching.ready = True
    answer.source.on_ready()
    await until(lambda: len(watching.events) == 41)


async def test_other_watches_are_not_compressed(api: ApiUnderTest) -> None:
    answer = await api.send("GET", f"{TEMPLATES}?watch=true", headers={"accept-encoding": GZIP})
    assert isinstance(answer, Stream)
    assert answer.headers == ()


async def test_1_35_compresses_no_watch(pki: Pki, tmp_path: Path) -> None:
    async with running_api(pki, tmp_path, release=V1_35) as api:
        await fill(api)
        answer = await api.send("GET", WATCH_LIST, headers={"accept-encoding": GZIP})
        assert isinstance(answer, Stream)
        assert answer.headers == ()
        assert is_compressed(await api.get(TEMPLATES, accept_encoding=GZIP))
