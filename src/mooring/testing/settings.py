"""What a test says of its cluster before it starts."""

from collections.abc import Collection
from typing import Final

import msgspec

from mooring.testing.errors import ClusterError

NONE: Final[frozenset[str]] = frozenset()


class Settings(msgspec.Struct, frozen=True):
    controllers: frozenset[str] | None = None  # by name, and `scheduler`; None: all
    default_class: bool = True  # claims that name no class get a directory


def settings_of(*, controllers: bool | Collection[str], default_class: bool) -> Settings:
    """Raises: ClusterError for a controller that does not exist."""
    if isinstance(controllers, bool):
        return Settings(None if controllers else NONE, default_class and controllers)
    from mooring.controllers.role import CONTROLLERS

    known = (*CONTROLLERS, "scheduler")
    for name in controllers:
        if name not in known:
            raise ClusterError(f"there is no controller {name!r}; there are {', '.join(known)}")
    return Settings(frozenset(controllers), default_class and "binding" in controllers)
