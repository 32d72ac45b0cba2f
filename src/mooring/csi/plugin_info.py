"""What a registration socket says of the plugin behind it, and which versions will do. Pure."""

import re
from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from mooring.errors import MooringError

CSI_PLUGIN = "CSIPlugin"
OFFERED_VERSIONS = ("1.0.0",)  # what every registrar of CSI drivers says

_VERSION = re.compile(r"\s*v?([0-9]+(?:\.[0-9]+)*)")


class Plugin(msgspec.Struct, frozen=True):
    """What is behind a registration socket, as it says itself."""

    type: str
    name: str
    endpoint: str  # empty: the registration socket itself
    versions: tuple[str, ...]

    def endpoint_at(self, socket: str) -> str:
        return self.endpoint or socket


class RegistrationStatus(msgspec.Struct, frozen=True):
    registered: bool
    error: str = ""


class UnsupportedVersions(MooringError):
    """A plugin offers no version that we speak. The text is the one that node agents give."""


class Version(msgspec.Struct, frozen=True):
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))

    def is_below(self, other: "Version") -> bool:
        pairs = list(zip_longest(self.numbers, other.numbers, fillvalue=0))
        return [mine for mine, _ in pairs] < [theirs for _, theirs in pairs]


def highest_version(offered: Sequence[str]) -> Version:
    """The highest 1.x among what a plugin offers; what cannot be read or is above is passed over.

    Raises: UnsupportedVersions.
    """
    highest: Version | None = None
    trouble = "<nil>"
    for text in reversed(offered):
        version = _find_version(text)
        if isinstance(version, str):
            trouble = version
        elif version.numbers[0] <= 1 and (highest is None or highest.is_below(version)):
            highest = version
    if highest is None:
        raise UnsupportedVersions(
            f"could not find a highest supported version from versions ([{' '.join(offered)}])"
            f" reported: {trouble}"
            if offered
            else "empty array for supported versions"
        )
    if highest.numbers[0] != 1:
        raise UnsupportedVersions(f"highest supported version reported is {highest}, must be v1.x")
    return highest


def _find_version(text: str) -> Version | str:
    """The version, or what is wrong with the text."""
    match = _VERSION.match(text)
    if match is None:
        return f'could not parse "{text}" as version'
    numbers = match[1].split(".")
    if len(numbers) < 2:
        return f'illegal version string "{text}"'
    if numbers[0].startswith("0") and numbers[0] != "0":
        return f'illegal zero-prefixed version component "{numbers[0]}" in "{text}"'
    return Version(tuple(map(int, numbers)))
