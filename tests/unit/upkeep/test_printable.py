"""Text of others on a terminal."""

from mooring.upkeep.printable import printable


def test_what_a_terminal_would_obey_is_replaced() -> None:
    assert printable("a\nb\x1b[31m\x9b\u202ec \u00e4") == "a?b?[31m??c \u00e4"


def test_long_text_is_cut() -> None:
    assert printable("x" * 500) == "x" * 200 + "..."
    assert printable("x" * 200) == "x" * 200
