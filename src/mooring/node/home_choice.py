"""Which root directory the node of a data directory uses. Pure."""

import hashlib
import os
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

import msgspec

DEFAULT = (Path("/var/lib/mooring"), "default")  # the data directory that has a root with a name
NAME = re.compile(r"default|[0-9a-f]{8}")
MOST_NAMES = 8  # for one data directory; the second is for when another took the first with it

IN_PLACE = (
    "pods' volumes are mounted in the data directory, by an earlier version of mooring: do not "
    "remove it; a start when no pod is left moves them out of it"
)


class NodeEntry(Enum):
    """What is at `node` in a data directory."""

    NOTHING = "nothing"
    LINK = "link"
    EMPTY_DIRECTORY = "empty directory"
    DIRECTORY = "directory"
    OTHER = "something else"


class HomeView(msgspec.Struct, frozen=True):
    """What there is to be known before a root is chosen."""

    data: Path
    thing: NodeEntry
    leads_to: Path | None  # where the link leads
    is_mounted: bool  # whether something is mounted where `node` is, or leads
    candidates: tuple[Path, ...]  # where a root may be made, the best first
    wished: Path | None  # --root-dir
    unusable: frozenset[Path]  # no directories, or of other users
    claimed_by: Mapping[Path, Path]  # roots that are another data directory's
    ours: frozenset[Path]  # roots that say they are this data directory's


class UseRoot(msgspec.Struct, frozen=True):
    root: Path


class MoveTo(msgspec.Struct, frozen=True):
    """What is in the data directory becomes this root."""

    root: Path


class InPlace(msgspec.Struct, frozen=True):
    """What is in the data directory stays there, for now."""

    because: str


class Refused(msgspec.Struct, frozen=True):
    because: str


Choice = UseRoot | MoveTo | InPlace | Refused


def names_for(data: Path) -> tuple[str, ...]:
    """Short names for roots of this data directory, in the order in which they are tried."""
    path, name = DEFAULT
    salted = (os.fsencode(data) + b"\0%d" % number for number in range(MOST_NAMES))
    hashed = tuple(hashlib.sha256(text).hexdigest()[:8] for text in salted)
    return (name, *hashed) if data == path else hashed


def choose(look: HomeView) -> Choice:
    """Two data directories never get one root, and nothing that is mounted is left behind."""
    link = look.data / "node"
    if look.thing is NodeEntry.OTHER:
        return Refused(f"{link} is no directory: remove it")
    if look.wished is not None:
        return _as_wished(look, look.wished, link)
    match look.thing:
        case NodeEntry.DIRECTORY if look.is_mounted:
            return InPlace(IN_PLACE)
        case NodeEntry.DIRECTORY:
            return _first_free(look, MoveTo)
        case NodeEntry.LINK:
            return _as_linked(look, link)
        case _:
            return _first_free(look, UseRoot)


def _as_wished(look: HomeView, wished: Path, link: Path) -> Choice:
    if wished == link:
        return InPlace("pods' volumes are mounted in the data directory: do not remove it by hand")
    if wished.is_relative_to(look.data):
        return Refused(
            f"--root-dir {wished} is in the data directory, and would be lost with it: choose "
            "another"
        )
    if look.thing is NodeEntry.DIRECTORY:
        return Refused(
            f"{link} is the root directory of its node until now: move it to {wished}, or give no "
            "--root-dir"
        )
    if look.leads_to not in (None, wished) and look.is_mounted:
        return Refused(
            f"volumes of pods are mounted in {look.leads_to}, the root directory of this node "
            "until now: give no --root-dir, or delete the pods first"
        )
    if wished in look.claimed_by:
        return Refused(
            f"{wished} belongs to the data directory {look.claimed_by[wished]}: choose another "
            "--root-dir"
        )
    return UseRoot(wished)


def _as_linked(look: HomeView, link: Path) -> Choice:
    """Where the link leads, if that is a root, and ours: a moved data directory keeps its own."""
    root = look.leads_to
    if root is None:
        raise AssertionError("a link leads somewhere")
    is_home = root.parent == look.candidates[0].parent and NAME.fullmatch(root.name) is not None
    if root in look.unusable or not (is_home or root in look.ours):
        return Refused(
            f"{link} leads to {root}, which is no root directory of its node: remove the link, or "
            f"give --root-dir {root}"
        )
    if root in look.claimed_by:  # a copy of a data directory
        return _first_free(look, UseRoot)
    return UseRoot(root)


def _first_free(look: HomeView, kind: type[UseRoot] | type[MoveTo]) -> Choice:
    for root in look.candidates:
        if root not in look.claimed_by and root not in look.unusable:
            return kind(root)
    return Refused(
        f"no root directory for a node is free in {look.candidates[0].parent}: choose one with "
        "--root-dir"
    )
