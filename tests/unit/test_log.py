"""A log line is one line, whatever is in it."""

import logging

import pytest

from mooring import log

FIELDS = {
    "plain": ("web-0", "web-0"),
    "nothing": ("", '""'),
    "spaces": ("two words", '"two words"'),
    "a line break": ("a\nlevel=error at=x", '"a\\nlevel=error at=x"'),
    "a return": ("a\rb", '"a\\u000db"'),
    "an escape sequence": ("\x1b[2J", '"\\u001b[2J"'),
    "an odd line break": ("a\u2028b", '"a\\u2028b"'),
    "without end": ("x" * 100_000, "x" * log.MOST_SHOWN + "..."),
}


@pytest.mark.parametrize(("given", "then"), FIELDS.values(), ids=FIELDS)
def test_fields(given: str, then: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mooring.test"):
        log.get("mooring.test").info("said", field=given)
    assert caplog.messages == [f"msg=said field={then}"]
