"""What clients write is remembered when it is short."""

from mooring.apiserver.limits.short_memo import LONGEST, MOST_KEPT, short_memo
from mooring.apiserver.request.options import list_options, parse_query
from mooring.apiserver.request.routes import parse


def test_short_texts_are_asked_about_once() -> None:
    asked: list[str] = []

    @short_memo
    def size(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [size("a"), size("a"), size("x" * LONGEST), size("x" * LONGEST)] == [1, 1, 256, 256]
    assert asked == ["a", "x" * LONGEST]


def test_long_texts_are_not_kept() -> None:
    asked: list[str] = []

    @short_memo
    def size(text: str) -> int:
        asked.append(text)
        return len(text)

    for _ in range(2):
        assert size("x" * (LONGEST + 1)) == LONGEST + 1
    assert len(asked) == 2


def test_no_more_are_kept_than_fit() -> None:
    asked: list[str] = []

    @short_memo
    def size(text: str) -> int:
        asked.append(text)
        return len(text)

    for number in range(MOST_KEPT + 1):
        size(str(number))
    size("0")
    assert asked.count("0") == 2


def test_a_long_query_and_a_long_path_are_read_all_the_same() -> None:
    query = "labelSelector=" + "a%2C" * 1000
    assert parse_query(query) == {"labelSelector": ["a," * 1000]}
    assert list_options(query).labels == "a," * 1000
    assert parse("/api/v1/nodes/" + "n" * 1000) == parse("/api/v1/nodes/" + "n" * 1000)
