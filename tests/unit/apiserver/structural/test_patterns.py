"""Regular expressions are RE2, told of in Go's words."""

import pytest

from mooring.apiserver.structural.patterns import MOST_CHARACTERS, matches, problem_of


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("^[a-z]+$", ""),
        (r"\d\pL(?i)a(?P<x>b)", ""),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        (r"a\\C", ""),
        ("a" * (MOST_CHARACTERS + 1), "expression too large"),
        (r"\pL{1000}", "expression too large"),
    ],
)
def test_what_is_wrong_with_an_expression(pattern: str, problem: str) -> None:
    assert problem_of(pattern) == (f"error parsing regexp: {problem}" if problem else "")


@pytest.mark.parametrize(
    ("pattern", "text", "answer"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("c$", "abc\n", False),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
        (r"^\pL$", "é", True),
        ("^.$", "é", True),
        ("^.$", "\n", False),
    ],
)
def test_they_match_as_in_go(pattern: str, text: str, answer: bool) -> None:  # noqa: FBT001  a column
    assert matches(text, pattern) is answer


def test_no_expression_takes_for_ever() -> None:
    assert not matches("a" * 100_000 + "!", "^(a+)+$")
    assert not matches("a" * 100_000, "(a?){50}a{50}b")
