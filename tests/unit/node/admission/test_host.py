"""What the machine can enforce."""

from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.node.admission import host
from mooring.node.admission.decide import Rules


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One without anything."""
    monkeypatch.setattr(host, "APP_ARMOR", tmp_path / "apparmor")
    monkeypatch.setattr(host, "SELINUX", tmp_path / "selinux")
    return tmp_path


def test_a_machine_without_anything() -> None:
    assert host.look() == Rules()


@pytest.mark.parametrize(("text", "expected"), [("Y\n", True), ("N\n", False)])
def test_app_armor_may_be_there_and_off(machine: Path, text: str, expected: bool) -> None:  # noqa: FBT001  a column
    (machine / "apparmor").write_text(text)
    assert host.look().has_app_armor is expected


def test_selinux_is_on_where_it_has_a_mode(machine: Path) -> None:
    (machine / "selinux").write_text("0")
    assert host.look().has_selinux


def test_what_its_owner_allows() -> None:
    assert "kernel.msgmax" in host.look(("kernel.msgmax",)).sysctls.names
    with pytest.raises(UsageError):
        host.look(("vm.swappiness",))
