"""Checks of a caller's arguments: without a resourceVersion and uid, a write could hit another
object, and a watch would begin with all existing objects."""

from mooring.model.meta import ApiObject


def seen_version(seen: ApiObject) -> str:
    if not seen.metadata.resource_version:
        raise ValueError(f"{seen.key} was not read from a server: it has no resourceVersion")
    return seen.metadata.resource_version


def seen_uid(seen: ApiObject) -> str:
    if not seen.uid:
        raise ValueError(f"{seen.key} was not read from a server: it has no uid")
    return seen.uid


def listed_version(version: str) -> str:
    if version in ("", "0"):
        raise ValueError("a watch starts behind the version of a list")
    return version
