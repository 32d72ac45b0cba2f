"""What clients of Ceph are told, in words that no program can mistake. Pure."""

from collections.abc import Sequence

from mooring.plugins.contract import VolumeError
from mooring.plugins.hostile import check_word


def keyring(user: str, key: str) -> str:
    """The file that `-k` takes."""
    return f"[client.{user}]\n\tkey = {key}\n"


def check_monitors(field: str, monitors: Sequence[str]) -> None:
    """Raises: VolumeError."""
    if not monitors:
        raise VolumeError(f"{field} is empty")
    for monitor in monitors:
        check_word(field, monitor)
        check_no_comma(field, monitor)


def check_user(field: str, user: str) -> None:
    check_word(field, user)
    check_no_comma(field, user)
    if "]" in user or "/" in user:
        raise VolumeError(f"{field} {user!r} must not hold any of ] /")


def check_file(field: str, path: str) -> None:
    """Raises: VolumeError."""
    check_word(field, path)
    check_no_comma(field, path)
    if not path.startswith("/"):
        raise VolumeError(f"{field} {path!r} must be an absolute path")


def check_no_comma(field: str, value: str) -> None:
    if "," in value:
        raise VolumeError(f"{field} {value!r} must not hold a comma, which would begin an option")
