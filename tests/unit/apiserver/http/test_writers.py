from mooring.apiserver.http.writers import frame


def test_a_frame_is_one_chunk() -> None:
    assert frame(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"
