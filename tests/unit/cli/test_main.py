"""`mooring` tells what it raises on purpose in one line for each, and nothing else."""

import pytest
from typer.testing import CliRunner

from mooring import cli
from mooring.errors import Unreached, UsageError

FAILURES = {
    "one": (UsageError("a"), "mooring: a\n"),
    "one of several tasks": (
        ExceptionGroup("tasks", [ExceptionGroup("inner", [UsageError("a")])]),
        "mooring: a\n",
    ),
    "a driver's words": (UsageError("a\x1b]0;b\x07\rc"), "mooring: a\\u001b]0;b\\u0007\\u000dc\n"),
    "a server that is down": (
        Unreached("cannot reach it", "is `mooring up` running?"),
        "mooring: cannot reach it; is `mooring up` running?\n",
    ),
    "a server of which no file tells": (Unreached("no", ""), "mooring: no\n"),
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


CHOICES = {
    "an argument": ("top", "foo"),
    "a flag": ("timeline", "pod/x", "-o", "foo"),
    "a flag of a command below another": ("csi", "trace", "-o", "foo"),
}


@pytest.mark.parametrize("words", CHOICES.values(), ids=CHOICES)
def test_a_value_that_is_none_of_the_choices_is_refused_once(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli.app, words)
    last = result.output.splitlines()[-1]
    assert result.exit_code == 2
    assert last.startswith("Error: Invalid value for ")
    assert ": 'foo' is not one of '" in last
    assert "Value error" not in last
