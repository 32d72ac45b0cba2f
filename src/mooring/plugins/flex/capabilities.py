"""What a driver says of itself when it is asked to `init`. Pure."""

from collections.abc import Mapping

import msgspec


class BadReply(Exception):
    """A driver has answered what makes no sense."""


class Capabilities(msgspec.Struct, frozen=True):
    """The defaults are those of a driver that says nothing."""

    attach: bool = True
    selinux_relabel: bool = True
    supports_metrics: bool = False
    fs_group: bool = True
    requires_fs_resize: bool = True


_FIELDS: Mapping[str, str] = {
    "attach": "attach",
    "selinuxrelabel": "selinux_relabel",
    "supportsmetrics": "supports_metrics",
    "fsgroup": "fs_group",
    "requiresfsresize": "requires_fs_resize",
}


def read_capabilities(told: object) -> Capabilities:
    """Only the keys that are there count, in any case of letters; null is the defaults.

    Raises: BadReply.
    """
    if told is None:
        return Capabilities()
    if not isinstance(told, Mapping):
        raise BadReply("capabilities: not an object")
    known: dict[str, bool] = {}
    for key, value in told.items():
        field = _FIELDS.get(str(key).lower())
        if field is None or value is None:
            continue
        if not isinstance(value, bool):
            raise BadReply(f"capabilities.{key}: not a boolean")
        known[field] = value
    return Capabilities(**known)
