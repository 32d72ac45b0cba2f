"""Protobuf messages that JSON shows as a single value: times, quantities and their like."""

import binascii
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from mooring.apiserver.codec.protobuf_wire import (
    CHUNK,
    VARINT,
    read_chunk,
    read_tag,
    read_varint,
    signed,
    signed32,
    skip,
    write_chunk,
    write_number,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = datetime(1, 1, 1, tzinfo=UTC)
_IS_TEXT = 1

_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode


def read_text(data: bytes, at: int, stop: int) -> str:
    return data[at:stop].decode("utf-8")


def read_binary(data: bytes, at: int, stop: int) -> str:
    return binascii.b2a_base64(data[at:stop], newline=False).decode("ascii")


def read_time(data: bytes, at: int, stop: int) -> str | None:
    """None for the zero time, of which nothing is written."""
    moment = _moment(data, at, stop)
    return None if moment is None else f"{moment.isoformat(timespec='seconds')[:19]}Z"


def read_micro_time(data: bytes, at: int, stop: int) -> str | None:
    moment = _moment(data, at, stop)
    return None if moment is None else f"{moment.isoformat(timespec='microseconds')[:26]}Z"


def _moment(data: bytes, at: int, stop: int) -> datetime | None:
    if at == stop:
        return None
    numbers, _ = _parts(data, at, stop)
    seconds, nanos = signed(numbers.get(1, 0)), signed32(numbers.get(2, 0))
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=int(nanos / 1000))
    except OverflowError:
        raise ValueError("proto: time out of range") from None
    return None if moment == _NEVER else moment


def read_quantity(data: bytes, at: int, stop: int) -> str:
    _, texts = _parts(data, at, stop)
    return texts.get(1, b"0").decode("utf-8")


def read_int_or_string(data: bytes, at: int, stop: int) -> int | str:
    numbers, texts = _parts(data, at, stop)
    if numbers.get(1) == _IS_TEXT:
        return texts.get(3, b"").decode("utf-8")
    return signed32(numbers.get(2, 0))


def read_json(data: bytes, at: int, stop: int) -> Any:
    """A FieldsV1 or a RawExtension: JSON in its first field."""
    _, texts = _parts(data, at, stop)
    raw = texts.get(1)
    if not raw:
        return None
    try:
        return _decode_json(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("proto: a field that holds JSON holds something else") from error


def _parts(data: bytes, at: int, stop: int) -> tuple[dict[int, int], dict[int, bytes]]:
    """The numbers and the byte strings of a small message."""
    numbers: dict[int, int] = {}
    texts: dict[int, bytes] = {}
    while at < stop:
        number, wire, at = read_tag(data, at, stop)
        if wire == VARINT:
            numbers[number], at = read_varint(data, at, stop)
        elif wire == CHUNK:
            begin, at = read_chunk(data, at, stop)
            texts[number] = data[begin:at]
        else:
            at = skip(data, at, stop, wire)
    return numbers, texts


def write_binary(text: str) -> bytes:
    return binascii.a2b_base64(text)


def write_time(text: str) -> bytes:
    since = datetime.fromisoformat(text) - _EPOCH
    seconds = since.days * 86400 + since.seconds
    return write_number(1, seconds) + write_number(2, since.microseconds * 1000)


def write_quantity(text: str) -> bytes:
    return write_chunk(1, text.encode())


def write_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return write_number(1, _IS_TEXT) + write_number(2, 0) + write_chunk(3, value.encode())
    return write_number(1, 0) + write_number(2, value) + write_chunk(3, b"")


def write_json(value: Any) -> bytes:
    return write_chunk(1, _encode_json(value))
