"""What a test says of its cluster before it starts."""

from collections.abc import Collection
from typing import Final

import msgspec

from mooring.model.kubernetes_version import NEWEST, VERSIONS
from mooring.testing.errors import ClusterError

NONE: Final[frozenset[str]] = frozenset()


class Settings(msgspec.Struct, frozen=True):
    controllers: frozenset[str] | None = None  # by name, and `scheduler`; None: all
    default_class: bool = True  # claims that name no class get a directory
    kubernetes_version: str = str(NEWEST)  # the release that is followed


def settings_of(
    *, controllers: bool | Collection[str], default_class: bool, kubernetes_version: str
) -> Settings:
    """Raises: ClusterError for a controller or a release that does not exist."""
    if kubernetes_version not in VERSIONS:
        raise ClusterError(
            f"kubernetes_version is one of {', '.join(VERSIONS)}, not {kubernetes_version!r}"
        )
    if isinstance(controllers, bool):
        gives_default = default_class and controllers
        return Settings(None if controllers else NONE, gives_default, kubernetes_version)
    from mooring.controllers.role import CONTROLLERS

    known = (*CONTROLLERS, "scheduler")
    for name in controllers:
        if name not in known:
            raise ClusterError(f"there is no controller {name!r}; there are {', '.join(known)}")
    has_default = default_class and "binding" in controllers
    return Settings(frozenset(controllers), has_default, kubernetes_version)
