import errno

import pytest

from mooring.cli.say import say


def test_a_line_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    say("mooring is ready")
    assert capsys.readouterr().out == "mooring is ready\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE], ids=["full", "closed"])
def test_a_role_outlives_its_standard_output(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    said: list[str] = []

    def refuse(line: str) -> None:
        said.append(line)
        raise OSError(number, "refused")

    monkeypatch.setattr("mooring.cli.say.typer.echo", refuse)
    say("mooring is ready")
    assert said == ["mooring is ready"]
