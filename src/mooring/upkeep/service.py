"""`install-service`: a systemd unit is written, or removed; one of somebody else never is."""

import os
import tempfile
from pathlib import Path

import msgspec

from mooring.errors import UsageError
from mooring.upkeep.service_unit import MARK

SYSTEM = Path("/etc/systemd/system")
PACKAGED = (
    Path("/run/systemd/system"),
    Path("/usr/local/lib/systemd/system"),
    Path("/usr/lib/systemd/system"),
    Path("/lib/systemd/system"),
)
_MODE = 0o644
_LONGEST = 1 << 16


class UnitPlace(msgspec.Struct, frozen=True):
    """Where a unit goes, and where others of its name would be overruled by it."""

    directory: Path
    name: str  # with its ending
    others: tuple[Path, ...] = ()

    @property
    def file(self) -> Path:
        return self.directory / self.name


def place_of_unit(name: str, *, is_of_user: bool) -> UnitPlace:
    """Raises: UsageError for what is no name of a unit."""
    bare = name.removesuffix(".service")
    if not bare.isascii() or not bare or not all(c.isalnum() or c in "-_.:" for c in bare):
        raise UsageError(f"{name!r} cannot be a unit's name: use letters, digits and - _ . :")
    if not is_of_user:
        return UnitPlace(SYSTEM, f"{bare}.service", PACKAGED)
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return UnitPlace(Path(config) / "systemd" / "user", f"{bare}.service")


def install(place: UnitPlace, text: str) -> None:
    """Write the unit; one of ours is replaced. Raises: UsageError."""
    for file in (place.file, *(directory / place.name for directory in place.others)):
        if os.path.lexists(file) and not _is_ours(file):
            raise UsageError(
                f"{file} is there already, and not of mooring: choose another name with --unit"
            )
    try:
        place.directory.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.directory)
        try:
            with os.fdopen(handle, "w") as file_:
                file_.write(text)
                file_.flush()
                os.fchmod(file_.fileno(), _MODE)
                os.fsync(file_.fileno())
            Path(unfinished).replace(place.file)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
    except PermissionError as error:
        raise UsageError(f"cannot write {place.file}: be root, or give --user") from error
    except OSError as error:
        raise UsageError(f"cannot write {place.file}: {error.strerror}") from error


def uninstall(place: UnitPlace, disable: str) -> None:
    """Remove the unit; `disable` is the command that comes before. Raises: UsageError."""
    if not os.path.lexists(place.file):
        raise UsageError(f"there is no {place.file}")
    if not _is_ours(place.file):
        raise UsageError(f"{place.file} is not of mooring, and stays")
    enabled = sorted(place.directory.glob(f"*.wants/{place.name}"))
    if enabled:
        raise UsageError(f"{place.name} is enabled: run `{disable}` first")
    try:
        place.file.unlink()
    except OSError as error:
        raise UsageError(f"cannot remove {place.file}: {error.strerror}") from error


def _is_ours(file: Path) -> bool:
    """A plain file that says so; a link, as of a masked unit, never is."""
    if file.is_symlink() or not file.is_file():
        return False
    try:
        with file.open(errors="replace") as opened:
            return opened.read(_LONGEST).startswith(MARK)
    except OSError:
        return False
