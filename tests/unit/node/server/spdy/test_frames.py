"""Frames, however they are cut; and the headers in them."""

import struct
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.node.server.spdy import frames
from mooring.node.server.spdy.errors import SpdyError
from mooring.node.server.spdy.frames import (
    Data,
    FrameReader,
    GoingAway,
    Opened,
    Pinged,
    Reset,
)
from mooring.node.server.spdy.headers import DICTIONARY, HeaderReader, HeaderWriter

# What other clients send, and nobody here has a use for.
SETTINGS = bytes.fromhex("80030004 0000000c 00000001 00000004 00001000")
WINDOW = bytes.fromhex("80030009 00000008 00000001 00010000")


def test_the_dictionary_is_that_of_spdy_3() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


@given(st.lists(st.dictionaries(st.text(), st.text(), max_size=5), max_size=5))
def test_headers_are_read_as_written_in_one_context(blocks: list[dict[str, str]]) -> None:
    writer, reader = HeaderWriter(), HeaderReader()
    assert [reader.read(writer.write(block)) for block in blocks] == blocks


def opening(headers: HeaderWriter, stream: int, type: str) -> bytes:
    block = headers.write({"streamtype": type})
    return struct.pack(">IIIIH", 0x80030001, 10 + len(block), stream, 0, 0) + block


def reply(headers: HeaderWriter, stream: int) -> bytes:
    block = headers.write({"x": "y"})
    return struct.pack(">III", 0x80030002, 4 + len(block), stream) + block


@given(cuts=st.lists(st.integers(0, 200), max_size=10))
def test_frames_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    headers = HeaderWriter()
    whole = b"".join(
        (
            opening(headers, 1, "error"),
            SETTINGS,
            reply(headers, 2),
            frames.data(1, b"hello"),
            WINDOW,
            frames.ping(3),
            opening(headers, 3, "stdin"),
            frames.last(1),
            frames.reset(3, 5),
            frames.go_away(3),
        )
    )
    reader = FrameReader()
    places = sorted({0, *(min(cut, len(whole)) for cut in cuts), len(whole)})
    pieces = [whole[a:b] for a, b in pairwise(places)]
    events = [event for piece in pieces for event in reader.feed(piece)]
    data = b"".join(event.data for event in events if isinstance(event, Data))
    assert data == b"hello"
    assert [event for event in events if not isinstance(event, Data) or event.is_last] == [
        Opened(1, {"streamtype": "error"}, is_last=False),
        Pinged(3),
        Opened(3, {"streamtype": "stdin"}, is_last=False),
        Data(1, b"", is_last=True),
        Reset(3),
        GoingAway(),
    ]


@given(st.binary(max_size=300))
def test_noise_is_read_or_refused_and_nothing_else(noise: bytes) -> None:
    reader = FrameReader()
    try:
        events = list(reader.feed(noise))
    except SpdyError:
        return
    assert all(isinstance(e, Opened | Data | Reset | Pinged | GoingAway) for e in events)


def test_a_data_frame_is_never_held_as_a_whole() -> None:
    reader = FrameReader()
    head, piece = frames.data(1, bytes(1 << 20))[:8], bytes(1000)
    (first,) = reader.feed(head + piece)
    assert first == Data(1, piece, is_last=False)
    assert not reader._buffer


def test_headers_that_promise_more_than_they_have_are_refused() -> None:
    packed = zlib.compressobj(zdict=DICTIONARY)
    block = packed.compress(b"\0\0\0\1\0\0\0\xff") + packed.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(SpdyError, match="in the middle"):
        HeaderReader().read(block)
