"""`mooring kubeconfig --help` names every role that it knows."""

import pytest

from mooring import cli
from mooring.apiserver.auth.tokens import FIXED_ROLES


def test_the_help_names_every_role(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["mooring", "kubeconfig", "--help"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    shown = " ".join(capsys.readouterr().out.split())
    for role in (*FIXED_ROLES, "node:<name>"):
        assert role in shown.partition("Whose rights")[2].partition("--server")[0]
