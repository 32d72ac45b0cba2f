"""Header blocks of SPDY/3: name and value pairs, compressed with a dictionary that both ends know.

One compression context per direction lasts as long as the connection: blocks must be read in the
order they came in, every one of them.
"""

import struct
import zlib
from collections.abc import Mapping

from mooring.node.server.spdy.errors import SpdyError

MOST_BYTES = 16 << 10  # of one block, unpacked

_LENGTH = struct.Struct(">I")

# Section 2.6.10.1 of the SPDY/3 draft: words with their lengths before them, then plain text.
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language "
    "accept-ranges age allow authorization cache-control connection content-base content-encoding "
    "content-language content-length content-location content-md5 content-range content-type date "
    "etag expect expires from host if-match if-modified-since if-none-match if-range "
    "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url "
    "public set-cookie keep-alive origin"
)
_TEXT = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    b"401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    b"503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 "
    b"Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    b"application/xml,application/xhtml+xml,text/plain,text/javascript,public"
    b"privatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _counted(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


DICTIONARY = b"".join(_counted(word.replace("_", " ").encode()) for word in _WORDS.split()) + _TEXT


class HeaderWriter:
    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zdict=DICTIONARY)

    def write(self, headers: Mapping[str, str]) -> bytes:
        parts = [_LENGTH.pack(len(headers))]
        for name, value in headers.items():
            parts += (_counted(name.encode()), _counted(value.encode()))
        return self._zlib.compress(b"".join(parts)) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class HeaderReader:
    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)

    def read(self, block: bytes) -> dict[str, str]:
        """Raises: SpdyError; nothing more can be read then."""
        try:
            plain = self._zlib.decompress(block, MOST_BYTES + 1)
        except zlib.error as error:
            raise SpdyError(f"the headers cannot be unpacked: {error}") from error
        if len(plain) > MOST_BYTES:
            raise SpdyError(f"the headers have more than {MOST_BYTES} bytes")
        return _parsed(plain)


def _parsed(plain: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    try:
        (count,) = _LENGTH.unpack_from(plain)
        place = _LENGTH.size
        for _ in range(count):
            name, place = _text_at(plain, place)
            headers[name], place = _text_at(plain, place)
    except (struct.error, UnicodeDecodeError) as error:
        raise SpdyError(f"the headers cannot be read: {error}") from error
    return headers


def _text_at(plain: bytes, place: int) -> tuple[str, int]:
    (size,) = _LENGTH.unpack_from(plain, place)
    start = place + _LENGTH.size
    if start + size > len(plain):
        raise SpdyError("the headers end in the middle of one")
    return plain[start : start + size].decode(), start + size
