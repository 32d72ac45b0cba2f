"""The command line: what is refused, and with which exit code."""

from pathlib import Path

import pytest

from mooring.errors import ServerError, UsageError
from mooring.why import ask
from mooring.why.ask import Question
from mooring.why.command import main
from mooring.why.kinds import BY_KIND, parse_subject


def a_kubeconfig(root: Path) -> Path:
    """Of a server that is not there."""
    file = root / "kubeconfig"
    file.write_text(
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k}}]\n"
        "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    return file


REFUSED = {
    "nothing is named": ([], "name what to explain, or --all-stuck"),
    "both are named": (["pvc/a", "--all-stuck"], "name what to explain, or --all-stuck"),
    "all are watched": (["--all-stuck", "--watch"], "--watch is for one object"),
}


@pytest.mark.parametrize(("arguments", "told"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_a_line_and_never_exit_code_1(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"mooring: {told}")


def test_kinds_and_names_may_be_two_words_as_for_kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Question]()

    def answered(question: Question, _: object) -> int:
        asked.append(question)
        return 0

    monkeypatch.setattr(ask, "ask", answered)
    assert (main(["pvc", "data"]), main(["pvc/data"])) == (0, 0)
    assert [question.subject for question in asked] == ["pvc/data", "pvc/data"]


@pytest.mark.parametrize("text", ["job/a", "pvc", "pvc/", "pvc/a/pvc/b"])
def test_what_is_no_kind_and_name_is_told_the_kinds_as_kubectl_calls_them(text: str) -> None:
    with pytest.raises(UsageError, match="is no KIND/NAME; kinds are ") as refused:
        parse_subject(text, "default")
    known = str(refused.value).partition("kinds are ")[2].partition(": ")[0].split(", ")
    assert {parse_subject(f"{kind}/a", "").kind for kind in known} == set(BY_KIND)


def test_a_kubeconfig_that_is_missing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pvc/data", "--kubeconfig", str(tmp_path / "none")]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_what_a_server_says_moves_no_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> int:
        raise ServerError("no\x1b[2J\r")

    monkeypatch.setattr(ask, "ask", refused)
    assert main(["pvc/data"]) == 2
    assert capsys.readouterr().err == "mooring: no[2J \n"


def test_a_server_that_is_down_is_told_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_kubeconfig(tmp_path)
    assert main(["pvc/data", "--kubeconfig", str(file)]) == 2
    assert capsys.readouterr().err == (
        "mooring: cannot reach http://127.0.0.1:1: Connection refused; "
        f"is `mooring up` running? {file} names this server\n"
    )


def test_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "0 when it is fine, 1 while it waits, 2 when it is broken" in capsys.readouterr().out
