"""`mooring` tells what it raises on purpose in one line for each, and nothing else."""

import pytest

from mooring import cli
from mooring.errors import UsageError

FAILURES = {
    "one": (UsageError("a"), "mooring: a\n"),
    "one of several tasks": (
        ExceptionGroup("tasks", [ExceptionGroup("inner", [UsageError("a")])]),
        "mooring: a\n",
    ),
    "a driver's words": (UsageError("a\x1b]0;b\x07\rc"), "mooring: a\\u001b]0;b\\u0007\\u000dc\n"),
    "two": (
        ExceptionGroup("tasks", [UsageError("a"), UsageError("b")]),
        "mooring: a\nmooring: b\n",
    ),
}


@pytest.mark.parametrize(("failure", "told"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_told_in_a_line(
    failure: Exception,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails() -> None:
        raise failure

    monkeypatch.setattr(cli, "app", fails)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == told
