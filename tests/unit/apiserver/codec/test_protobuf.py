"""Protobuf bodies, there and back."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.codec.protobuf import MAGIC, decode, decode_message, open_envelope
from mooring.apiserver.codec.protobuf_encode import encode, encode_message
from mooring.apiserver.codec.protobuf_wire import (
    FIXED32,
    FIXED64,
    GROUP,
    GROUP_END,
    read_varint,
    write_chunk,
    write_number,
    write_varint,
)
from mooring.apiserver.schema.check import conform
from tests.unit.apiserver.schema.documents import ON_PROTOBUF, documents

Doc = dict[str, Any]
CONFIG = "core.v1.ConfigMap"
CLAIM = "core.v1.PersistentVolumeClaimSpec"
ATTACHMENT = "storage.v1.VolumeAttachmentStatus"

SENT = bytes.fromhex(
    "6b387300 0a0f0a02763112 09436f6e6669674d6170"
    "1217 0a0b 0a016d 1200 1a026e73 2200 1208 0a016b 1203 762f31"
    "1a00 2200"
)


def test_a_body_as_clients_send_it() -> None:
    assert decode(SENT, CONFIG) == (
        "v1",
        "ConfigMap",
        {"metadata": {"name": "m", "namespace": "ns"}, "data": {"k": "v/1"}},
    )


READ: dict[str, tuple[str, bytes, Doc]] = {
    "an empty text is absent": ("meta.v1.ObjectMeta", write_chunk(1, b""), {}),
    "an empty text behind a pointer is kept": (
        CLAIM,
        write_chunk(5, b""),
        {"storageClassName": ""},
    ),
    "an empty message is absent": (CLAIM, write_chunk(2, b""), {}),
    "an empty message behind a pointer is kept": (CLAIM, write_chunk(4, b""), {"selector": {}}),
    "a zero is absent": ("core.v1.Event", write_number(8, 0), {}),
    "a zero behind a pointer is kept": (
        "meta.v1.DeleteOptions",
        write_number(1, 0),
        {"gracePeriodSeconds": 0},
    ),
    "a zero that answers always carry is kept": (
        ATTACHMENT,
        write_number(1, 0),
        {"attached": False},
    ),
    "a later empty value takes the earlier one away": (
        "meta.v1.ObjectMeta",
        write_chunk(1, b"a") + write_chunk(1, b""),
        {},
    ),
    "a message in two parts is merged": (
        "core.v1.PersistentVolume",
        write_chunk(1, write_chunk(1, b"a")) + write_chunk(1, write_chunk(3, b"b")),
        {"metadata": {"name": "a", "namespace": "b"}},
    ),
    "an inline part is no object of its own": (
        "core.v1.Volume",
        write_chunk(1, b"v") + write_chunk(2, write_chunk(2, b"")),
        {"name": "v", "emptyDir": {}},
    ),
    "items of lists are never dropped": (
        CLAIM,
        write_chunk(1, b"") + write_chunk(1, b"ReadWriteOnce"),
        {"accessModes": ["", "ReadWriteOnce"]},
    ),
    "an entry of a map without a value": (
        CONFIG,
        write_chunk(2, write_chunk(1, b"k")),
        {"data": {"k": ""}},
    ),
    "an entry of a map with neither": (CONFIG, write_chunk(2, b""), {"data": {"": ""}}),
    "binary data is base64": (
        CONFIG,
        write_chunk(3, write_chunk(1, b"k") + write_chunk(2, b"\x00\xff")),
        {"binaryData": {"k": "AP8="}},
    ),
    "a negative number": (
        "core.v1.Toleration",
        write_number(5, -1),
        {"tolerationSeconds": -1},
    ),
    "a number of 32 bits written with 64": (
        "core.v1.KeyToPath",
        write_number(3, -1),
        {"mode": -1},
    ),
    "numbers one by one": (
        "core.v1.PodSecurityContext",
        write_number(4, 1) + write_number(4, 0),
        {"supplementalGroups": [1, 0]},
    ),
    "numbers in a pack": (
        "core.v1.PodSecurityContext",
        write_chunk(4, write_varint(1) + write_varint(-2)),
        {"supplementalGroups": [1, -2]},
    ),
    "a time": (
        "meta.v1.ObjectMeta",
        write_chunk(8, write_number(1, 1767323045) + write_number(2, 999)),
        {"creationTimestamp": "2026-01-02T03:04:05Z"},
    ),
    "a time of length zero is none": ("meta.v1.ObjectMeta", write_chunk(9, b""), {}),
    "the zero time of Go is none": (
        "meta.v1.ObjectMeta",
        write_chunk(9, write_number(1, -62135596800)),
        {},
    ),
    "a micro time": (
        "coordination.v1.LeaseSpec",
        write_chunk(4, write_number(1, 1767323045) + write_number(2, 123456789)),
        {"renewTime": "2026-01-02T03:04:05.123456Z"},
    ),
    "a quantity in its one spelling": (
        "storage.v1.CSIStorageCapacity",
        write_chunk(4, write_chunk(1, b"1024Mi")),
        {"capacity": "1Gi"},
    ),
    "a resource is rounded up": (
        "core.v1.VolumeResourceRequirements",
        write_chunk(2, write_chunk(1, b"storage") + write_chunk(2, write_chunk(1, b"1n"))),
        {"requests": {"storage": "1m"}},
    ),
    "a port by number": (
        "core.v1.TCPSocketAction",
        write_chunk(1, write_number(1, 0) + write_number(2, 80) + write_chunk(3, b"")),
        {"port": 80},
    ),
    "a port by name": (
        "core.v1.TCPSocketAction",
        write_chunk(1, write_number(1, 1) + write_number(2, 0) + write_chunk(3, b"web")),
        {"port": "web"},
    ),
    "managed fields": (
        "meta.v1.ManagedFieldsEntry",
        write_chunk(7, write_chunk(1, b'{"f:data":{}}')),
        {"fieldsV1": {"f:data": {}}},
    ),
    "extra values": (
        "authentication.v1.UserInfo",
        write_chunk(4, write_chunk(1, b"k") + write_chunk(2, write_chunk(1, b"v"))),
        {"extra": {"k": ["v"]}},
    ),
    "unknown numbers of every wire type are skipped": (
        CONFIG,
        write_number(90, 5)
        + write_chunk(91, b"x")
        + write_varint(92 << 3 | FIXED64)
        + bytes(8)
        + write_varint(93 << 3 | FIXED32)
        + bytes(4)
        + write_varint(94 << 3 | GROUP)
        + write_chunk(1, b"inner")
        + write_varint(94 << 3 | GROUP_END)
        + write_number(4, 1),
        {"immutable": True},
    ),
}


@pytest.mark.parametrize(("message", "raw", "doc"), READ.values(), ids=READ)
def test_message(message: str, raw: bytes, doc: Doc) -> None:
    assert decode_message(raw, message) == doc


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "cut off in a tag": (CONFIG, b"\x80", "unexpected EOF"),
    "cut off in a length": (CONFIG, b"\x0a", "unexpected EOF"),
    "cut off in a chunk": (CONFIG, b"\x0a\x05ab", "unexpected EOF"),
    "cut off in an unknown number": (CONFIG, b"\xf9\x07\x00", "unexpected EOF"),
    "a varint without end": (CONFIG, b"\x20" + b"\xff" * 11, "proto: integer overflow"),
    "a varint of 70 bits": (CONFIG, b"\x20" + b"\xff" * 9 + b"\x7f", "proto: integer overflow"),
    "a length beyond all": (CONFIG, b"\x0a" + b"\xff" * 9 + b"\x01", "unexpected EOF"),
    "number 0": (CONFIG, b"\x02\x00", "proto: illegal tag 0"),
    "a text as a number": (CONFIG, write_number(1, 5), "wrong wireType = 0 for field metadata"),
    "a number as a text": (CONFIG, write_chunk(4, b"x"), "wrong wireType = 2 for field immutable"),
    "a map as a number": (CONFIG, write_number(2, 5), "wrong wireType = 0 for field data"),
    "a wire type that does not exist": (CONFIG, b"\xff\x07", "illegal wireType 7"),
    "the end of a group that never began": (CONFIG, b"\xfc\x07", "unexpected end of group"),
    "a group that never ends": (CONFIG, b"\xfb\x07" * 50_000, "unexpected EOF"),
    "a text that is no UTF-8": ("meta.v1.ObjectMeta", write_chunk(1, b"\xff"), "utf-8"),
    "a quantity that is none": (
        "storage.v1.CSIStorageCapacity",
        write_chunk(4, write_chunk(1, b"x")),
        "quantities must match",
    ),
    "a time out of range": (
        "meta.v1.ObjectMeta",
        write_chunk(8, write_number(1, 2**62)),
        "time out of range",
    ),
    "managed fields that are no JSON": (
        "meta.v1.ManagedFieldsEntry",
        write_chunk(7, write_chunk(1, b"{")),
        "a field that holds JSON holds something else",
    ),
    "managed fields that are a bomb": (
        "meta.v1.ManagedFieldsEntry",
        write_chunk(7, write_chunk(1, b"[" * 100_000)),
        "a field that holds JSON holds something else",
    ),
}


@pytest.mark.parametrize(("message", "raw", "why"), BROKEN.values(), ids=BROKEN)
def test_broken_bytes_are_refused(message: str, raw: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode_message(raw, message)


NO_ENVELOPE = {
    "nothing": (b"", "empty data"),
    "JSON": (b'{"kind":"Pod"}', r"expected prefix \[107 56 115 0\]"),
    "the mark alone": (MAGIC, "empty body"),
    "rubbish behind the mark": (MAGIC + b"\xff", "unexpected EOF"),
    "a kind that is no UTF-8": (MAGIC + write_chunk(1, write_chunk(2, b"\xff")), "utf-8"),
}


@pytest.mark.parametrize(("body", "why"), NO_ENVELOPE.values(), ids=NO_ENVELOPE)
def test_what_is_no_envelope_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        open_envelope(body)


def _samples() -> st.SearchStrategy[tuple[str, Doc]]:
    return st.sampled_from(ON_PROTOBUF).flatmap(
        lambda kind: st.tuples(st.just(kind), documents(kind))
    )


@settings(deadline=None)  # the machine may be busy
@given(_samples())
def test_a_document_survives_the_round_trip(sample: tuple[str, Doc]) -> None:
    message, doc = sample
    named = {"apiVersion": "v1", "kind": "Thing"}
    rest = {name: value for name, value in doc.items() if name not in named}
    assert decode(encode({**named, **rest}, message), message) == ("v1", "Thing", rest)


@settings(deadline=None)  # the machine may be busy
@given(_samples(), st.data())
def test_damaged_bytes_are_read_or_refused(sample: tuple[str, Doc], data: st.DataObject) -> None:
    message, doc = sample
    raw = bytearray(encode_message(doc, message))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw)))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    with suppress(ValueError):  # anything else would escape
        kept = decode_message(bytes(raw), message)
        before = copy.deepcopy(kept)
        assert conform(kept, message) == []
        assert kept == before  # whatever was read is a document in its one spelling


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(ON_PROTOBUF), st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(message: str, raw: bytes) -> None:
    for body in (raw, MAGIC + raw, MAGIC + write_chunk(2, raw)):
        with suppress(ValueError):  # anything else would escape
            decode(body, message)


@settings(deadline=None)  # the machine may be busy
@given(st.integers(-(2**63), 2**64 - 1))
def test_varints_survive_the_round_trip(value: int) -> None:
    written = write_varint(value)
    assert read_varint(written, 0, len(written)) == (value % 2**64, len(written))
