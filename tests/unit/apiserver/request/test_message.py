from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.request.message import Joined


@given(st.lists(st.binary(max_size=50), max_size=60), st.integers(1, 200))
def test_blocks_say_the_same_as_their_parts(parts: list[bytes], size: int) -> None:
    body = Joined(parts, b",", b"<", b">")
    assert b"".join(body.blocks(size)) == b"<" + b",".join(parts) + b">"
    assert body.length == len(b",".join(parts)) + 2


def test_parts_as_large_as_a_block_are_not_copied() -> None:
    parts = [bytes([number]) * 100 for number in range(5)]
    blocks = list(Joined(parts, b",").blocks(100))
    assert [block for block in blocks if block != b","] == parts
    assert all(block is part for block, part in zip(blocks[::2], parts, strict=True))


def test_small_parts_share_a_block() -> None:
    assert len(list(Joined([b"x" * 10] * 1000, b",").blocks(1000))) < 25
