"""Sizes of a terminal, as clients send them: JSON documents, one after the other."""

import json
from collections.abc import Iterator

from mooring.oci.contract import Size

MOST_BYTES = 4096  # of a document that is not complete
LARGEST = 0xFFFF

_decoder = json.JSONDecoder()


class SizeReader:
    """Reads them however they were cut; after one that makes no sense it reads no more."""

    def __init__(self) -> None:
        self._text = ""
        self._is_lost = False

    def feed(self, data: bytes) -> Iterator[Size]:
        if self._is_lost:
            return
        self._text = (self._text + data.decode("utf-8", "replace")).lstrip()
        while self._text:
            try:
                found, end = _decoder.raw_decode(self._text)
            except ValueError:
                self._is_lost = len(self._text) > MOST_BYTES
                return
            self._text = self._text[end:].lstrip()
            size = _find_size(found)
            if size is None:
                self._is_lost = True
                return
            yield size


def _find_size(found: object) -> Size | None:
    if not isinstance(found, dict):
        return None
    columns, rows = found.get("Width", 0), found.get("Height", 0)
    for number in (columns, rows):
        if not isinstance(number, int) or not 0 <= number <= LARGEST:
            return None
    return Size(columns, rows)
