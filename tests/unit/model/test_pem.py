"""Binary blocks in a text."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.pem import Block, blocks

X = "-----BEGIN X-----\nAQID\n-----END X-----\n"
A_BLOCK = Block("X", b"\x01\x02\x03")

READ: dict[str, tuple[str, list[Block]]] = {
    "nothing": ("", []),
    "a block": (X, [A_BLOCK]),
    "without a last line end": (X.rstrip(), [A_BLOCK]),
    "with line ends of the other sort": (X.replace("\n", "\r\n"), [A_BLOCK]),
    "with blanks": ("-----BEGIN X----- \nAQ\n \tID\n-----END X-----\t\n", [A_BLOCK]),
    "two": (X + X, [A_BLOCK, A_BLOCK]),
    "text around": (f"of mine\n{X}that is all", [A_BLOCK]),
    "a label of two words": (X.replace("X", "A KEY"), [Block("A KEY", b"\x01\x02\x03")]),
    "no data": ("-----BEGIN X-----\n-----END X-----\n", [Block("X", b"")]),
    "headers": (
        X.replace("AQID", "Proc-Type: 4\nDEK-Info: a\n\nAQID"),
        [Block("X", b"\x01\x02\x03", has_headers=True)],
    ),
    "a beginning without an end": (f"-----BEGIN X-----\nBBBB\n{X}", [A_BLOCK]),
    "an end without a beginning": (f"-----END X-----\n{X}", [A_BLOCK]),
    "another end": (f"-----BEGIN X-----\nBBBB\n-----END Y-----\n{X}", [A_BLOCK]),
    "a beginning that is cut short": (f"-----BEGIN X\nBBBB\n-----END X-----\n{X}", [A_BLOCK]),
    "a beginning within a line": (f"here: {X}", []),
    "no base64": (X.replace("AQID", "A?ID") + X, [A_BLOCK]),
    "base64 that is cut short": (X.replace("AQID", "AQI") + X, [A_BLOCK]),
    "letters of other alphabets": (X.replace("AQID", "AQIД") + X, [A_BLOCK]),
}


@pytest.mark.parametrize(("text", "found"), READ.values(), ids=READ)
def test_what_is_read(text: str, found: list[Block]) -> None:
    assert list(blocks(text)) == found


@given(st.lists(st.binary(max_size=200)))
def test_what_is_written_is_read(written: list[bytes]) -> None:
    text = "".join(
        f"-----BEGIN X-----\n{base64.encodebytes(data).decode()}-----END X-----\n"
        for data in written
    )
    assert [block.data for block in blocks(text)] == written
