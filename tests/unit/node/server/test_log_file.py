"""Reading logs from disk: the end of them, part of them, while they are rotated."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.pod_log_options import PodLogOptions
from mooring.node.server import log_file
from mooring.node.server.log_file import LogReader
from mooring.node.server.log_lines import MOST_LINE_BYTES, LogLines

FULL, PART = "F", "P"


def line(text: str, tag: str = FULL, stream: str = "stdout", second: int = 5) -> bytes:
    return f"2026-01-02T03:04:{second:02}.000000007+00:00 {stream} {tag} {text}\n".encode()


def everything(reader: LogReader) -> bytes:
    pieces = []
    while True:
        piece = reader.read()
        pieces.append(piece.data)
        if piece.is_all:
            return b"".join(pieces)


@contextmanager
def opened(path: Path, options: PodLogOptions) -> Iterator[LogReader]:
    reader = LogReader(path, options)
    try:
        reader.open()
        yield reader
    finally:
        reader.close()


def read(path: Path, options: PodLogOptions) -> bytes:
    with opened(path, options) as reader:
        return everything(reader)


def shown(options: PodLogOptions, *lines: bytes) -> bytes:
    return LogLines(options).feed(b"".join(lines))


LINES = {
    "parts of a line are joined": (
        PodLogOptions(),
        (line("a", PART), line("b", PART), line("c")),
        b"abc\n",
    ),
    "an empty line is a line": (PodLogOptions(), (line(""), line("x")), b"\nx\n"),
    "spaces in the text are kept": (PodLogOptions(), (line("  a  b "),), b"  a  b \n"),
    "a time is shown once per line, with nine digits, in UTC as Z": (
        PodLogOptions(timestamps=True),
        (line("a", PART), line("b")),
        b"2026-01-02T03:04:05.000000007Z ab\n",
    ),
    "another zone is shown as it is": (
        PodLogOptions(timestamps=True),
        (b"2026-01-02T03:04:05.5+02:00 stdout F x\n",),
        b"2026-01-02T03:04:05.500000000+02:00 x\n",
    ),
    "one stream alone": (
        PodLogOptions(stream="Stderr"),
        (line("out"), line("err", stream="stderr")),
        b"err\n",
    ),
    "what is older than asked for is left out": (
        PodLogOptions(since_time=1767323046 * 10**9),
        (line("old"), line("new", second=6), line("newer", second=7)),
        b"new\nnewer\n",
    ),
    "bytes are counted with the time before a line": (
        PodLogOptions(timestamps=True, limit_bytes=33),
        (line("abcdef"), line("x")),
        b"2026-01-02T03:04:05.000000007Z ab",
    ),
    "what is no log line is passed over": (
        PodLogOptions(),
        (b"rubbish\n", line("a", stream="stdwhat"), b"\n", line("b")),
        b"b\n",
    ),
    "further tags do not matter": (PodLogOptions(), (line("a", "P:x"), line("b", "F:y")), b"ab\n"),
}


@pytest.mark.parametrize(("options", "lines", "expected"), LINES.values(), ids=LINES)
def test_lines(options: PodLogOptions, lines: tuple[bytes, ...], expected: bytes) -> None:
    assert shown(options, *lines) == expected


@given(
    texts=st.lists(st.tuples(st.text("ab ", max_size=9), st.sampled_from([FULL, PART]))),
    size=st.integers(1, 40),
)
def test_lines_are_the_same_however_they_are_cut(texts: list[tuple[str, str]], size: int) -> None:
    whole = b"".join(line(text, tag) for text, tag in texts)
    reader = LogLines(PodLogOptions())
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    expected = "".join(text + ("\n" if tag == FULL else "") for text, tag in texts)
    assert b"".join(map(reader.feed, pieces)) == expected.encode()


def test_a_line_without_end_is_not_held() -> None:
    lines = LogLines(PodLogOptions())
    for _ in range(20):
        assert lines.feed(b"x" * (MOST_LINE_BYTES // 8)) == b""
        assert len(lines._rest) <= MOST_LINE_BYTES
    assert lines.feed(b"tail\n" + line("next")) == b"next\n"


@pytest.mark.parametrize("block", [7, 64, 1 << 20])
@given(
    texts=st.lists(
        st.tuples(st.text("ab", max_size=9), st.sampled_from([FULL, PART])), max_size=20
    ),
    cut=st.integers(0, 20),
    tail=st.integers(0, 8),
)
def test_the_tail_is_the_last_lines_whatever_the_files_and_blocks(
    tmp_path_factory: pytest.TempPathFactory,
    block: int,
    texts: list[tuple[str, str]],
    cut: int,
    tail: int,
) -> None:
    path = tmp_path_factory.mktemp("logs") / "0.log"
    lines = [line(text, tag) for text, tag in texts]
    path.with_name("0.log.20260102-030405").write_bytes(b"".join(lines[:cut]))
    path.write_bytes(b"".join(lines[cut:]))
    text = "".join(text + ("\n" if tag == FULL else "") for text, tag in texts)
    # Parts alone are nothing to see, but a line that goes on counts as one.
    ends = texts and texts[-1][1] == PART
    wanted = text.splitlines(keepends=True) + ([""] if ends and not _goes_on(text) else [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_file, "BLOCK", block)
        expected = "".join(wanted[-tail:] if tail else [])
        assert read(path, PodLogOptions(tail_lines=tail)) == expected.encode()


def _goes_on(text: str) -> bool:
    return bool(text) and not text.endswith("\n")


def test_the_tail_of_a_large_log_reads_little_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "0.log"
    with path.open("wb") as file:
        file.truncate(1 << 30)  # a hole: reading it all would take long
        file.seek(0, 2)
        file.write(b"\n" + b"".join(line(str(number)) for number in range(5000)))
    taken: list[int] = []
    monkeypatch.setattr(os, "pread", _counting(os.pread, taken))
    assert read(path, PodLogOptions(tail_lines=2)) == b"4998\n4999\n"
    assert sum(taken) <= log_file.BLOCK


Pread = Callable[[int, int, int], bytes]


def _counting(pread: Pread, taken: list[int]) -> Pread:
    def counting(handle: int, size: int, place: int) -> bytes:
        taken.append(size)
        return pread(handle, size, place)

    return counting


def test_rotated_files_come_first_the_oldest_before_all(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(line("3"))
    path.with_name("0.log.20260102-030406").write_bytes(line("2"))
    path.with_name("0.log.20260102-030405").write_bytes(line("1"))
    path.with_name("0.log.20260102-030405.tmp").write_bytes(line("no"))
    path.with_name("10.log").write_bytes(line("no"))
    assert read(path, PodLogOptions()) == b"1\n2\n3\n"


def test_no_log_yet_is_an_empty_log(tmp_path: Path) -> None:
    assert read(tmp_path / "gone" / "0.log", PodLogOptions()) == b""


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(line("secret"))
    (tmp_path / "0.log").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic links"):
        read(tmp_path / "0.log", PodLogOptions())


def test_what_is_written_after_the_question_is_not_part_of_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(line("before"))
    with opened(path, PodLogOptions()) as reader:
        with path.open("ab") as file:
            file.write(line("after"))
        assert everything(reader) == b"before\n"


def test_the_tail_ends_where_the_log_ended_when_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(line("1") + line("2"))
    open_file = os.open

    def write_and_open(name: Path, flags: int) -> int:
        with path.open("ab") as log:
            log.write(line("3"))
        return open_file(name, flags)

    monkeypatch.setattr(os, "open", write_and_open)
    assert read(path, PodLogOptions(tail_lines=1)) == b"2\n"


def test_a_last_line_that_was_cut_off_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(line("whole") + line("cut off").removesuffix(b"\n"))
    assert read(path, PodLogOptions()) == b"whole\ncut off\n"


def test_a_follower_reads_through_rotations(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(line("1"))
    with opened(path, PodLogOptions(follow=True)) as reader:
        assert everything(reader) == b"1\n"
        with path.open("ab") as old:
            path.rename(path.with_name("0.log.20260102-030405"))
            assert everything(reader) == b""
            old.write(line("2"))  # the writer has not heard yet
        path.write_bytes(line("3"))
        path.rename(path.with_name("0.log.20260102-030406"))
        path.write_bytes(line("4") + line("half").removesuffix(b"\n"))
        assert everything(reader) == b"2\n3\n4\n"
        with path.open("ab") as file:
            file.write(b"way\n")
        assert everything(reader) == b"halfway\n"


def test_a_follower_whose_file_was_thrown_away_goes_on_with_the_oldest(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(line("1"))
    with opened(path, PodLogOptions(follow=True)) as reader:
        assert everything(reader) == b"1\n"
        path.unlink()
        path.with_name("0.log.20260102-030406").write_bytes(line("5"))
        path.write_bytes(line("6"))
        assert everything(reader) == b"5\n6\n"
