"""Units are written and removed, and those of others stay."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.upkeep.service import UnitPlace, install, place_of_unit, uninstall
from mooring.upkeep.service_unit import MARK

OURS = f"{MARK}\n[Unit]\n"


@pytest.fixture
def place(tmp_path: Path) -> UnitPlace:
    return UnitPlace(tmp_path / "etc" / "systemd", "mooring.service", (tmp_path / "lib",))


def test_it_is_written_for_everybody_to_read_and_rewritten(place: UnitPlace) -> None:
    install(place, OURS)
    install(place, f"{OURS}again")
    assert place.file.read_text() == f"{OURS}again"
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o644
    assert os.listdir(place.directory) == ["mooring.service"]
    uninstall(place, "")
    assert os.listdir(place.directory) == []


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a unit of somebody": lambda file: file.write_text("[Unit]\n"),
    "a masked one": lambda file: file.symlink_to("/dev/null"),
    "a directory": lambda file: file.mkdir(),
    "a mark further down": lambda file: file.write_text(f"# mine\n{OURS}"),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_ours_stays(place: UnitPlace, make: Callable[[Path], object]) -> None:
    place.directory.mkdir(parents=True)
    make(place.file)
    before = place.file.lstat()
    with pytest.raises(UsageError, match="not of mooring: choose another name with --unit"):
        install(place, OURS)
    with pytest.raises(UsageError, match="is not of mooring, and stays"):
        uninstall(place, "")
    assert place.file.lstat().st_ino == before.st_ino


def test_a_packaged_unit_of_the_same_name_is_not_overruled(place: UnitPlace) -> None:
    place.others[0].mkdir()
    (place.others[0] / place.name).write_text("[Unit]\n")
    with pytest.raises(UsageError, match="is there already"):
        install(place, OURS)
    assert not place.file.exists()


def test_one_that_is_enabled_is_disabled_first(place: UnitPlace) -> None:
    install(place, OURS)
    wants = place.directory / "multi-user.target.wants"
    wants.mkdir()
    (wants / place.name).symlink_to(place.file)
    with pytest.raises(UsageError, match="is enabled: run `systemctl disable` first"):
        uninstall(place, "systemctl disable")
    assert place.file.exists()
    (wants / place.name).unlink()
    uninstall(place, "systemctl disable")
    with pytest.raises(UsageError, match="there is no "):
        uninstall(place, "systemctl disable")


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", "\u00e4", ".service"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a unit's name"):
        place_of_unit(name, is_of_user=False)


def test_of_a_user_it_goes_where_users_have_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert place_of_unit("m", is_of_user=True) == UnitPlace(
        tmp_path / "systemd" / "user", "m.service"
    )
    assert place_of_unit("m.service", is_of_user=False).file == Path(
        "/etc/systemd/system/m.service"
    )
