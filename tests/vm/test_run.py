"""`make test-vm` where it cannot run: one line, and no failure."""

import shutil

import pytest

from tests.vm import run


def test_what_is_missing_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert run.main() == 0
    said = capsys.readouterr().out
    assert said == (
        "tests in a virtual machine are skipped: install nfs-common nfs-kernel-server rpcbind tgt "
        "open-iscsi kmod lvm2 thin-provisioning-tools multipath-tools udev\n"
    )
