"""Values of the API that become words of a command, or elements of a path."""

from mooring.plugins.contract import VolumeError


def check_word(field: str, value: str) -> None:
    """Raises: VolumeError when a program could take it for an option, or for several lines."""
    if not value:
        raise VolumeError(f"{field} is empty")
    if value.startswith("-"):
        raise VolumeError(f"{field} {value!r} must not begin with '-'")
    if not value.isprintable():
        raise VolumeError(f"{field} {value!r} must not hold control characters")


def check_element(field: str, value: str) -> None:
    """Raises: VolumeError when it would not stay one element of a path."""
    check_word(field, value)
    if "/" in value or value in (".", ".."):
        raise VolumeError(f"{field} {value!r} must not lead to another directory")
