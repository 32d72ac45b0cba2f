from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.http.message import frame, in_blocks


@given(st.lists(st.binary(max_size=50), max_size=60), st.integers(1, 200))
def test_blocks_say_the_same_as_their_parts(parts: list[bytes], size: int) -> None:
    assert b"".join(in_blocks(parts, b",", size)) == b",".join(parts)


def test_parts_as_large_as_a_block_are_not_copied() -> None:
    parts = [bytes([number]) * 100 for number in range(5)]
    blocks = in_blocks(parts, b",", 100)
    assert [block for block in blocks if block != b","] == parts
    assert all(block is part for block, part in zip(blocks[::2], parts, strict=True))


def test_small_parts_share_a_block() -> None:
    assert len(in_blocks([b"x" * 10] * 1000, b",", 1000)) < 25


def test_a_frame_is_one_chunk() -> None:
    assert frame(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"
